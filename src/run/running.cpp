// SPDX-License-Identifier: MIT
#include "run/running.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "base/ulid.hpp"
#include "engine/docker.hpp"
#include "run/background.hpp"
#include "run/exclusive.hpp"
#include "run/extras.hpp"
#include "run/prepare.hpp"
#include "run/readiness.hpp"
#include "sys/host_facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace sparkrun::run {
namespace {

using std::chrono::days;

// The engine of now first, then those of the runs that are known of.
std::vector<engine::Choice> engines_of(const sys::Environment& environment,
                                       const config::Settings& settings) {
  std::vector<engine::Choice> choices = {choose_engine(nullptr, settings)};
  std::set<std::pair<std::string, std::vector<std::string>>> seen;
  for (const RunFolder& folder : run_folders(environment)) {
    const RunNote& note = folder.note();
    if (seen.emplace(note.engine, note.engine_command).second) {
      choices.push_back({.name = note.engine, .command = note.engine_command});
    }
  }
  return choices;
}

GoingRun to_run(engine::ContainerState container, engine::Engine& engine,
                const sys::Environment& environment) {
  GoingRun going{.run = label(container, run_label),
                 .profile = label(container, profile_label),
                 .digest = label(container, digest_label),
                 .container = std::move(container),
                 .engine = &engine,
                 .folder = std::nullopt};
  going.folder = RunFolder::find(environment, going.run);
  return going;
}

bool is_meant(const GoingRun& run, const std::string& text) {
  return names_ulid(text, run.run) || run.container.name == text || run.profile == text;
}

[[noreturn]] void fail_which(const std::string& what, const std::vector<const GoingRun*>& runs) {
  std::vector<std::string> lines;
  for (const GoingRun* run : runs) {
    lines.push_back(fmt::format("{} ({}, {})", run->run, run->profile, run->container.name));
  }
  throw Error{"usage.which_run", what, {}, lines};
}

// Whether the engine that has the run's container is one of those that are asked now.
bool is_asked(const RunNote& note, const sys::Environment& environment) {
  return note.engine != "docker" || note.engine_host == engine::docker_host(environment);
}

// With the GPU, if nobody has taken it meanwhile.
void start_another_waiter(const RunFolder& folder, sys::System& system,
                          const config::Settings& settings) {
  if (!folder.note().is_exclusive) return start_waiter(folder, nullptr, system);
  sys::SharedLock claim{settings.text("gpu_lock")};
  const bool is_ours = claim.try_take();
  if (is_ours) note_holder(claim, folder.note().run, folder.note().profile, system.clock);
  start_waiter(folder, is_ours ? &claim : nullptr, system);
}

}  // namespace

std::optional<TimePoint> GoingRun::started() const { return parse_rfc3339(container.started); }

std::vector<const GoingRun*> Running::now() const {
  std::vector<const GoingRun*> found;
  for (const GoingRun& run : runs) {
    if (run.container.is_running) found.push_back(&run);
  }
  return found;
}

Running find_running(sys::System& system, const config::Settings& settings) {
  Running running;
  std::set<std::string> seen;
  std::optional<Error> failure;
  for (const engine::Choice& choice : engines_of(system.environment, settings)) {
    try {
      auto engine = engine::open(choice, system);
      for (engine::ContainerState& container : engine->list_containers(std::string{run_label})) {
        if (!seen.insert(container.id).second) continue;
        running.runs.push_back(to_run(std::move(container), *engine, system.environment));
      }
      running.engines.push_back(std::move(engine));
    } catch (const Error& error) {
      if (error.exit_code() != ExitCode::engine) throw;
      running.problems.emplace_back(error.what());
      if (!failure) failure = error;
    }
  }
  if (running.engines.empty() && failure) throw *failure;
  std::ranges::sort(running.runs, std::ranges::greater{}, &GoingRun::run);
  return running;
}

std::vector<GoingRun> foreign_containers(const Running& running) {
  std::vector<GoingRun> found;
  std::set<std::string> seen;
  for (const auto& engine : running.engines) {
    for (engine::ContainerState& container : engine->list_containers("")) {
      const bool is_meant = container.has_gpu && container.is_running &&
                            label(container, run_label).empty() && seen.insert(container.id).second;
      if (is_meant) found.push_back({.container = std::move(container), .engine = engine.get()});
    }
  }
  return found;
}

const GoingRun* find_going(const Running& running, const std::string& text, bool includes_ended) {
  const std::vector<const GoingRun*> now = running.now();
  if (text.empty()) {
    if (now.size() == 1) return now.front();
    if (now.empty()) return nullptr;
    fail_which(fmt::format("which run? {} are going on", now.size()), now);
  }
  if (text.starts_with('^')) {
    const auto age = parse_number(text.substr(1));
    if (!age || *age < 1 || static_cast<size_t>(*age) > now.size()) return nullptr;
    return now[static_cast<size_t>(*age) - 1];
  }
  std::vector<const GoingRun*> meant;
  for (const GoingRun& run : running.runs) {
    if (is_meant(run, text) && (run.container.is_running || includes_ended)) meant.push_back(&run);
  }
  // Of one profile the one that runs is meant, not what it left behind.
  if (meant.size() > 1) {
    std::vector<const GoingRun*> alive;
    std::ranges::copy_if(meant, std::back_inserter(alive),
                         [](const GoingRun* run) { return run->container.is_running; });
    if (!alive.empty()) meant = std::move(alive);
  }
  if (meant.size() > 1) {
    fail_which(fmt::format("`{}` is any of {} runs", printable(text), meant.size()), meant);
  }
  return meant.empty() ? nullptr : meant.front();
}

std::vector<std::string> look_after(sys::System& system, const config::Settings& settings) {
  std::vector<RunFolder> left = run_folders(system.environment);
  remove_old(left, system.clock, parse_duration(settings.text("logs_kept")).value_or(days{30}));
  std::erase_if(left, [](const RunFolder& folder) {
    return folder.has_ended() ? !folder.has_container() : folder.has_holder();
  });
  if (left.empty()) return {};
  const Running running = find_running(system, settings);
  std::vector<std::string> lines;
  for (RunFolder& folder : left) {
    const std::string& run = folder.note().run;
    const auto going = std::ranges::find(running.runs, run, &GoingRun::run);
    if (going == running.runs.end()) {
      const bool is_gone = running.problems.empty() &&
                           is_asked(folder.note(), system.environment) && !folder.has_holder();
      if (!is_gone) continue;
      if (folder.has_ended()) {  // its container was removed by somebody else
        sys::remove_file(folder.cidfile());
        continue;
      }
      folder.remove();
      lines.push_back(fmt::format("run {} is over; how it ended was not recorded", run));
    } else if (folder.has_ended()) {  // its waiter was killed before it could remove it
      if (folder.has_container()) remove_ended(folder, *going->engine);
    } else if (folder.note().is_detached && going->container.status == "created") {
      going->engine->remove(going->container.id);
      folder.remove();
      lines.push_back(fmt::format("run {} was never started: removed", run));
    } else if (folder.note().is_detached) {
      if (!folder.try_hold()) continue;  // another one was faster
      start_another_waiter(folder, system, settings);
      // Its watcher went with the host.
      const bool is_new_boot =
          folder.note().boot != sys::read_host_facts(system.environment).boot_id;
      if (is_new_boot && ready_state(folder) == ReadyState::not_yet) start_watcher(folder, system);
      lines.push_back(fmt::format("run {} ({}) had no waiter any more; it has one again", run,
                                  going->container.status));
    } else {
      lines.push_back(fmt::format("run {} ({}) has no sparkrun any more; `sparkrun stop {}`", run,
                                  going->container.status, run));
    }
  }
  return lines;
}

}  // namespace sparkrun::run
