// SPDX-License-Identifier: MIT
#pragma once

#include "engine/engine.hpp"
#include "run/recorder.hpp"
#include "run/run_folder.hpp"
#include "sys/system.hpp"

namespace sparkrun::run {

// What is known of a job whose profile says how it shows that it is ready.
enum class ReadyState { not_asked, not_yet, ready, late };
std::string_view to_string(ReadyState state);  // `-`, `no`, `yes`, `late`
ReadyState ready_state(const RunFolder& folder);

// Whether somebody gives an answer that says yes. Throws `interrupted`.
bool answers(const std::string& url, sys::Http& http);

// Leaves a watcher behind (`sparkrun __ready RUN`) where there is something to watch for. That it
// cannot be started is no reason to end a job: false.
bool start_watcher(const RunFolder& folder, sys::System& system);

// The watcher: until the job is ready, has ended, or its time is up. Writes the mark in the run's
// folder, and `run.ready`. Throws `interrupted`.
void watch_readiness(const RunFolder& folder, engine::Engine& engine, Recorder& recorder,
                     sys::System& system);

// Returns when the watcher has seen that the job is ready. Throws `run.ended_early` with the last
// lines that it printed, `run.not_ready` when its time is up, and `interrupted`; the run goes on.
void wait_until_ready(const RunFolder& folder, engine::Engine& engine, sys::System& system);

}  // namespace sparkrun::run
