// SPDX-License-Identifier: MIT
#pragma once

#include "audit/query.hpp"
#include "cli/command.hpp"
#include "run/recorder.hpp"
#include "run/running.hpp"

#include <span>
#include <vector>

namespace sparkrun::cli {

// The row of the commands that take a run that is going on.
constexpr Option target_option{
    "RUN",
    "",
    Takes::value,
    "",
    "id or its start, ^1 (the newest that runs), profile or container; else the only one",
    Values::going};

// The same of those that also know what is kept of runs that have ended.
constexpr Option kept_target_option{"RUN",
                                    "",
                                    Takes::value,
                                    "",
                                    "id or its start, ^1 (the newest), profile or container; else "
                                    "the only one",
                                    Values::kept};

// What runs; engines that did not answer are said.
run::Running find_running(Context& context);

// The argument RUN; empty: none was given. Throws `usage.which_run` for an empty word, which a
// script whose variable is not set would give.
std::string target_text(const Arguments& arguments);

// The same for `logs` and `wait`, which also know runs that have ended: of ^N the id of the run,
// the newest first.
std::string kept_target_text(const Arguments& arguments, const run::Running& running,
                             const sys::Environment& environment);

// Looks after the runs that nobody stays with, and says what became of them.
void look_after(Context& context);

// The one that the argument RUN means. Throws `run.none`, `usage.which_run`.
const run::GoingRun& chosen_run(const Arguments& arguments, const run::Running& running);

// A folder that a run in the background left, by id, container or profile, the newest first;
// nothing where none is meant.
std::optional<run::RunFolder> find_kept_run(const std::string& text,
                                            const sys::Environment& environment);

// Waits for a program that has our streams; what reaches us is passed on. Its exit status.
int run_in_front(sys::ForegroundProcess& process);

run::Recorder open_recorder(Context& context);

// What a process that was left behind for a run works with.
struct NotedRun {
  run::RunFolder folder;
  std::unique_ptr<engine::Engine> engine;
  run::Recorder recorder;
};

// Of the argument RUN, a whole id. Throws `run.none`.
NotedRun open_noted_run(const Arguments& arguments, Context& context);

// All runs of the ledgers. One of this user's that has no end and no folder either is not running:
// its sparkrun was killed, and its container is gone.
std::vector<audit::Run> recorded_runs(std::span<const audit::Ledger> ledgers,
                                      const sys::Environment& environment);

}  // namespace sparkrun::cli
