// SPDX-License-Identifier: MIT
#include "cli/running.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "base/ulid.hpp"
#include "sys/host_facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>

namespace sparkrun::cli {

run::Running find_running(Context& context) {
  run::Running running = run::find_running(context.system, context.settings);
  for (const std::string& problem : running.problems) context.output.warning(problem);
  return running;
}

std::string target_text(const Arguments& arguments) {
  const auto typed = arguments.value("RUN");
  if (!typed || !typed->empty()) return typed.value_or("");
  throw Error{"usage.which_run", "RUN is an empty word; to mean the only one that runs, give none"};
}

std::string kept_target_text(const Arguments& arguments, const run::Running& running,
                             const sys::Environment& environment) {
  std::string text = target_text(arguments);
  if (!text.starts_with('^')) return text;
  std::set<std::string, std::greater<>> ids;
  for (const run::GoingRun& run : running.runs) ids.insert(run.run);
  for (const run::RunFolder& folder : run::run_folders(environment)) {
    if (folder.note().is_detached) ids.insert(folder.note().run);
  }
  const auto age = parse_number(std::string_view{text}.substr(1)).value_or(0);
  if (age < 1 || static_cast<size_t>(age) > ids.size()) return text;
  return *std::next(ids.begin(), age - 1);
}

void look_after(Context& context) {
  try {
    for (const std::string& line : run::look_after(context.system, context.settings))
      context.output.note(line);
  } catch (const Error& error) {
    if (error.exit_code() == ExitCode::interrupted) throw;
    context.output.warning(error.what());
  }
}

const run::GoingRun& chosen_run(const Arguments& arguments, const run::Running& running) {
  const std::string text = target_text(arguments);
  const run::GoingRun* const found = run::find_going(running, text, false);
  if (found != nullptr) return *found;
  throw Error{"run.none", text.empty()
                              ? "nothing is running"
                              : fmt::format("no run that is going on is `{}`", printable(text))};
}

std::optional<run::RunFolder> find_kept_run(const std::string& text,
                                            const sys::Environment& environment) {
  std::vector<run::RunFolder> folders = run::run_folders(environment);
  std::ranges::reverse(folders);
  for (run::RunFolder& folder : folders) {
    const run::RunNote& note = folder.note();
    const bool is_meant = text.empty() || names_ulid(text, note.run) || note.container == text ||
                          note.profile == text;
    if (note.is_detached && is_meant) return std::move(folder);
  }
  return std::nullopt;
}

int run_in_front(sys::ForegroundProcess& process) {
  while (true) {
    const sys::ProcessEvent event = process.wait(std::nullopt);
    if (event.kind == sys::ProcessEvent::Kind::exited) return event.exit;
    const bool is_ours =
        event.kind == sys::ProcessEvent::Kind::signal && !event.signal.from_terminal;
    if (is_ours) process.send(event.signal.number);
  }
}

std::vector<audit::Run> recorded_runs(std::span<const audit::Ledger> ledgers,
                                      const sys::Environment& environment) {
  const sys::HostFacts host = sys::read_host_facts(environment);
  std::vector<audit::Run> runs = audit::list(ledgers, host.boot_id);
  for (audit::Run& run : runs) {
    const bool is_ours = run.state == audit::RunState::running && run.user == host.user;
    if (is_ours && !run::RunFolder::find(environment, run.id)) run.state = audit::RunState::unknown;
  }
  return runs;
}

run::Recorder open_recorder(Context& context) {
  return run::Recorder{context.settings, context.system,
                       sys::read_host_facts(context.system.environment).id};
}

NotedRun open_noted_run(const Arguments& arguments, Context& context) {
  auto folder = run::RunFolder::find(context.system.environment, arguments.value_or("RUN", ""));
  if (!folder) throw Error{"run.none", "there is no such run"};
  auto engine = engine::open(
      {.name = folder->note().engine, .command = folder->note().engine_command}, context.system);
  return {.folder = std::move(*folder),
          .engine = std::move(engine),
          .recorder = open_recorder(context)};
}

}  // namespace sparkrun::cli
