// SPDX-License-Identifier: MIT
#include "cli/running.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "base/ulid.hpp"
#include "sys/host_facts.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sparkrun::cli {

run::Running find_running(Context& context) {
  run::Running running = run::find_running(context.system, context.settings);
  for (const std::string& problem : running.problems) context.output.warning(problem);
  return running;
}

const run::GoingRun& chosen_run(const Arguments& arguments, const run::Running& running) {
  const std::string text = arguments.value_or("RUN", "");
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
