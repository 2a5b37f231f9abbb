// SPDX-License-Identifier: MIT
#pragma once

#include "engine/engine.hpp"
#include "plan/run_plan.hpp"
#include "sys/system.hpp"

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace sparkrun::run {

// The status of a job that --timeout ended, as of timeout(1).
constexpr int timed_out_exit = 124;

// What is known of the job when it is over.
struct Ended {
  int exit = 0;                // the container's own status, as docker's client passes it on
  std::string container;       // id; empty: it was never created
  std::string signal;          // that we were sent and passed on; empty: none
  bool is_lost = false;        // the engine is gone: `exit` is what its client made of that
  bool has_timed_out = false;  // --timeout stopped it; `exit` is then timed_out_exit
  std::optional<bool> is_oom;  // nothing: not known (the container was removed with --rm)
  std::chrono::milliseconds duration{0};
  std::vector<std::string> warnings;
};

// Called once, as soon as the engine has created the container, with what the engine says of it;
// nothing when it was gone before it could be asked.
using OnBound =
    std::function<void(const std::string& container, const std::optional<engine::ContainerState>&)>;

// Fourth phase: runs the job in the foreground with our streams and waits for its end.
//
// Signals: what is typed at the terminal reaches docker's client by itself; what is sent to
// sparkrun is passed on to it, and docker's client passes it on to the container: SIGTSTP, SIGCONT,
// SIGUSR1 and SIGUSR2, too. SIGTERM, SIGHUP and SIGQUIT give the job 10 s, a second signal 1.5 s, a
// third none: then the engine stops the container, so that nothing is left running. A single SIGINT
// sets no limit: a training job may need minutes to save. The same signal twice at once is one.
// docs/runs.md has what comes of each, beside docker's own.
//
// A job whose client has ended before it is stopped.
//
// After `limit` the job gets what a SIGTERM would give it.
Ended launch(const plan::RunPlan& plan, const plan::LaunchExtras& extras,
             std::optional<std::chrono::seconds> limit, engine::Engine& engine, sys::System& system,
             const OnBound& on_bound);

// The values of the plan's [env_from_file], by name, each without the newlines at its end. Throws
// `file.unreadable` where one cannot be had, is empty or holds a NUL.
std::vector<std::pair<std::string, std::string>> read_file_variables(const plan::RunPlan& plan);

}  // namespace sparkrun::run
