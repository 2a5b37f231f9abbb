// SPDX-License-Identifier: MIT
#pragma once

#include "preflight/verdict.hpp"
#include "run/ensure_image.hpp"
#include "run/prepare.hpp"
#include "run/recorder.hpp"
#include "run/run_folder.hpp"
#include "sys/shared_lock.hpp"

#include <chrono>
#include <optional>

namespace sparkrun::run {

// Whether a plan is to leave its job in the background.
bool is_detached(const plan::RunPlan& plan);

// The other way to launch: writes `run.start`, has the engine start the container, writes
// `run.bound`, and leaves a waiter behind (`sparkrun __wait RUN`, a process of its own session)
// that records the end. The container is started without --rm, even where the plan removes it: the
// waiter removes it, once its output and its state are saved. `claim` (null: none) is handed over
// to the waiter, and so is the status file. False where the waiter did not start: the job runs, and
// nobody will record its end. Throws what keeps the job from being started.
bool launch_in_background(const Prepared& prepared, const EnsuredImage& ensured,
                          const preflight::Report* report, engine::Engine& engine,
                          const sys::SharedLock* claim, Recorder& recorder, sys::System& system);

// Leaves a waiter behind: a process of its own session that takes over the lock of the folder,
// which is held, and `claim`. Throws `file.unwritable`, `engine.missing`.
void start_waiter(const RunFolder& folder, const sys::SharedLock* claim, sys::System& system);

// The waiter: stays with a run until its container does not run any more, saves what is to be
// removed with it, and writes `run.end`, each `run.restart` (the engine started it again, also
// while there was no waiter), and the status file. Throws `interrupted`, and `engine.*` where the
// engine has not answered for an hour.
void stay_with(RunFolder& folder, engine::Engine& engine, Recorder& recorder, sys::System& system);

// Returns when nobody stays with a run any more (how it ended is recorded then, if it is at all),
// or when the time is up. Throws `interrupted`.
void await_keeper(const RunFolder& folder, sys::System& system,
                  std::optional<std::chrono::milliseconds> limit = {});

// Removes the container of a run that has ended, and that its waiter was to remove, as soon as what
// it printed is saved; else it stays.
void remove_ended(const RunFolder& folder, engine::Engine& engine);

// Writes the end of a run that has none, from what the engine says of its container; removes the
// container where the run was to be removed. False where the container is gone: nobody knows.
bool close_from_engine(const RunFolder& folder, engine::Engine& engine, Recorder& recorder,
                       sys::System& system);

}  // namespace sparkrun::run
