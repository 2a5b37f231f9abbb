// SPDX-License-Identifier: MIT
#include "run/background.hpp"

#include "base/error.hpp"
#include "base/json_value.hpp"
#include "base/text.hpp"
#include "base/time.hpp"
#include "plan/argv.hpp"
#include "run/extras.hpp"
#include "run/launch.hpp"
#include "sys/files.hpp"

#include <algorithm>

namespace sparkrun::run {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds stop_grace{10};
// An engine that is restarted is back within seconds, a host within minutes.
constexpr milliseconds engine_pause{5'000};
constexpr int engine_tries = 720;

// The job in the background: it outlives its terminal, and its container outlives it for a moment.
plan::RunPlan detached_plan(plan::RunPlan plan) {
  std::erase_if(plan.container, [](const profile::OptionValue& value) {
    return value.option->key == "remove" || value.option->key == "detach";
  });
  plan.container.insert(plan.container.begin(),
                        {.option = profile::find_by_key("detach"), .values = {}});
  plan.interactive = plan.tty = false;
  return plan;
}

// Its id; empty: the engine has not created it.
std::string created_container(const RunFolder& folder) {
  return std::string{trim(sys::read_file(folder.cidfile()).value_or(""))};
}

std::string container_of(const RunFolder& folder) {
  const std::string id = created_container(folder);
  return id.empty() ? folder.note().container : id;
}

// Whoever looks at the run meanwhile should not find that nobody stays with it.
bool wait_for_waiter(const RunFolder& folder, sys::Clock& clock) {
  constexpr milliseconds step{5};
  constexpr int steps_max = 1000;
  for (int steps = 0; steps < steps_max; ++steps) {
    if (sys::path_exists(folder.waiter_mark())) return true;
    clock.sleep(step);
  }
  return false;
}

milliseconds duration_of(const engine::ContainerState& state) {
  const auto started = parse_rfc3339(state.started), finished = parse_rfc3339(state.finished);
  if (!started || !finished) return milliseconds{0};
  return std::max(milliseconds{0}, std::chrono::duration_cast<milliseconds>(*finished - *started));
}

// Writes the end, and saves what `logs` and an auditor may want to see when the container is gone.
// The description also marks a run as one that nobody has to stay with any more.
void close_run(const RunFolder& folder, const engine::ContainerState& state, int exit,
               engine::Engine& engine, Recorder& recorder) {
  constexpr mode_t private_file = 0600;
  recorder.append_or_warn(audit::run_end(
      folder.note().run,
      {.exit = exit, .is_oom_killed = state.is_oom_killed, .duration = duration_of(state)}));
  sys::write_file_atomically(folder.description(), engine.full_description(state.id), private_file);
  if (!folder.note().removes) return;
  sys::write_file_atomically(folder.log(), engine.last_output(state.id), private_file);
  engine.remove(state.id);
}

// Asks again while the engine is being restarted. Throws `interrupted`.
template <typename Question>
auto ask_patiently(sys::System& system, Question&& question) {
  for (int tries = engine_tries;; --tries) {
    try {
      return question();
    } catch (const Error& error) {
      if (error.exit_code() != ExitCode::engine || tries == 0) throw;
    }
    system.clock.sleep(engine_pause);
    system.terminal.throw_if_interrupted();
  }
}

}  // namespace

bool is_detached(const plan::RunPlan& plan) { return plan.find("detach") != nullptr; }

bool launch_in_background(const Prepared& prepared, const EnsuredImage& ensured,
                          const preflight::Report* report, engine::Engine& engine,
                          Recorder& recorder, sys::System& system) {
  create_mount_sources(prepared.plan);
  plan::LaunchExtras extras = launch_extras(prepared);
  extras.client_environment = read_file_variables(prepared.plan);
  RunNote note = note_of(prepared, extras.name);
  note.is_detached = true;
  note.removes = prepared.plan.find("remove") != nullptr;
  RunFolder folder = RunFolder::make(system.environment, note);
  extras.cidfile = folder.cidfile().string();
  try {
    const std::vector<std::string> argv = plan::run_argv(detached_plan(prepared.plan), &extras);
    recorder.append(audit::run_start(prepared.id, record_context(prepared, argv, report, system)));
    engine.start_detached(argv, extras.client_environment);
  } catch (const Error&) {
    // Created and not started. By its id alone: the name may be that of somebody else's container.
    const std::string id = created_container(folder);
    if (!id.empty()) engine.remove(id);
    folder.remove();
    throw;
  }
  // The job runs: from here on nothing is a refusal any more.
  try {
    recorder.append_or_warn(bound_record(prepared, ensured, container_of(folder),
                                         engine.find_container(container_of(folder))));
    // It takes the folder over as soon as we are gone, or have released it.
    system.processes.start_detached({"/proc/self/exe", "__wait", prepared.id},
                                    folder.waiter_log().string());
  } catch (const Error&) {
    return false;
  }
  folder.release();
  return wait_for_waiter(folder, system.clock);
}

void stay_with(RunFolder& folder, engine::Engine& engine, Recorder& recorder, sys::System& system) {
  folder.hold();
  sys::write_file_atomically(folder.waiter_mark(), "", 0600);
  const std::string container = container_of(folder);
  const auto end = folder.note().limit_s > 0
                       ? std::optional{system.clock.monotonic() + seconds{folder.note().limit_s}}
                       : std::nullopt;
  while (true) {
    const auto left =
        end ? std::optional{std::max(milliseconds{1}, *end - system.clock.monotonic())}
            : std::nullopt;
    const bool has_ended = ask_patiently(system, [&] { return engine.wait(container, left); });
    if (!has_ended) engine.stop(container, stop_grace);
    const auto state = ask_patiently(system, [&] { return engine.find_container(container); });
    if (!state) return;  // somebody removed it; how it ended nobody can tell
    if (state->is_running || state->status == "restarting") {
      if (has_ended)
        recorder.append_or_warn(audit::run_restart(folder.note().run, state->restarts));
      continue;
    }
    return close_run(folder, *state, has_ended ? state->exit : timed_out_exit, engine, recorder);
  }
}

bool close_from_engine(const RunFolder& folder, engine::Engine& engine, Recorder& recorder) {
  const auto state = engine.find_container(container_of(folder));
  if (!state || state->is_running) return false;
  if (state->status == "created") {  // it never ran, so it has no end
    engine.remove(state->id);
    return false;
  }
  close_run(folder, *state, state->exit, engine, recorder);
  return true;
}

}  // namespace sparkrun::run
