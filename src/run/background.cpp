// SPDX-License-Identifier: MIT
#include "run/background.hpp"

#include "base/error.hpp"
#include "base/json_value.hpp"
#include "base/text.hpp"
#include "base/time.hpp"
#include "plan/argv.hpp"
#include "run/close.hpp"
#include "run/extras.hpp"
#include "run/launch.hpp"
#include "run/readiness.hpp"
#include "sys/files.hpp"

#include <algorithm>

namespace sparkrun::run {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds stop_grace{10};
constexpr mode_t private_file = 0600;
// An engine that is restarted is back within seconds, a host within minutes.
constexpr milliseconds engine_pause{1'000};
constexpr int engine_tries = 3600;
constexpr milliseconds restart_pause{100};

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

// What was created and not started. The name alone may be that of somebody else's container.
void remove_unstarted(const RunFolder& folder, engine::Engine& engine) {
  try {
    const std::string& name = folder.note().container;
    if (const std::string id = folder.container(); id != name) return engine.remove(id);
    const auto state = engine.find_container(name);
    if (state && label(*state, run_label) == folder.note().run) engine.remove(state->id);
  } catch (const Error&) {
    // What kept it from being started is what the user has to see.
  }
}

milliseconds duration_of(const engine::ContainerState& state) {
  const auto started = parse_rfc3339(state.started), finished = parse_rfc3339(state.finished);
  if (!started || !finished) return milliseconds{0};
  return std::max(milliseconds{0}, std::chrono::duration_cast<milliseconds>(*finished - *started));
}

// What cannot be saved stays with the engine.
bool save(const fs::path& path, const std::string& text) {
  try {
    sys::write_file_atomically(path, text, private_file);
    return true;
  } catch (const Error&) {
    return false;
  }
}

// False: it is not to be had now, or there is no room for it.
bool save_output(const RunFolder& folder, engine::Engine& engine) {
  try {
    return save(folder.log(), engine.last_output(folder.container()));
  } catch (const Error&) {
    return false;
  }
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

// False: the time is up. An engine that goes away meanwhile ends the wait, too.
bool wait_for_end(const std::string& container, std::optional<milliseconds> end,
                  engine::Engine& engine, sys::System& system) {
  std::optional<milliseconds> left;
  if (end) left = std::max(milliseconds{1}, *end - system.clock.monotonic());
  try {
    return engine.wait(container, left) || !end;  // whatever a question may take, the job may
  } catch (const Error& error) {
    if (error.exit_code() != ExitCode::engine) throw;
    system.clock.sleep(engine_pause);
    return true;
  }
}

// How a run ended: `exit` is the container's, or timed_out_exit.
struct End {
  int exit = 0;
  bool has_timed_out = false;
};

// Writes the end, and saves what `logs` and an auditor may want to see when the container is gone.
// The description, which comes after the record, marks a run that nobody has to stay with any more.
void close_run(const RunFolder& folder, const engine::ContainerState& state, const End& end,
               engine::Engine& engine, Recorder& recorder, sys::System& system) {
  const RunNote& note = folder.note();
  const milliseconds duration = duration_of(state);
  const std::string description =
      ask_patiently(system, [&] { return engine.full_description(state.id); });
  if (note.removes) save_output(folder, engine);
  recorder.append_or_warn(audit::run_end(
      note.run, {.exit = end.exit, .is_oom_killed = state.is_oom_killed, .duration = duration}));
  save(folder.description(), description);
  try {
    StatusFile{note.status_file}.write({.run = note.run,
                                        .ended = {.exit = end.exit, .duration = duration},
                                        .origin = end.has_timed_out ? "sparkrun" : "container"});
  } catch (const Error&) {
    // Its folder is gone, say: nobody is there to be told, and the ledger has it.
  }
  if (note.removes && folder.has_ended()) remove_ended(folder, engine);
}

// When --timeout ends the job. It counts from the launch, whenever the waiter came, and not from
// before: the image may have been pulled and the GPU waited for first.
std::optional<milliseconds> end_of(const RunNote& note, const sys::Clock& clock) {
  if (note.limit_s <= 0) return std::nullopt;
  const TimePoint launched = parse_rfc3339(note.launched).value_or(clock.now());
  const auto gone = std::chrono::duration_cast<milliseconds>(clock.now() - launched);
  return clock.monotonic() + seconds{note.limit_s} - std::max(milliseconds{0}, gone);
}

// What the waiter knows of the job: when it was started last. A file keeps it for another waiter.
class KnownStart {
 public:
  explicit KnownStart(const RunFolder& folder)
      : folder_(folder), started_(trim(sys::read_file(folder.known_start()).value_or(""))) {}

  // Whether the engine has started the job again since.
  bool has_changed(const engine::ContainerState& state) {
    if (state.started == started_) return false;
    const bool was_known = !started_.empty();
    started_ = state.started;
    save(folder_.known_start(), started_ + "\n");  // another waiter does not need it to work
    return was_known;
  }

 private:
  const RunFolder& folder_;
  std::string started_;
};

}  // namespace

void start_waiter(const RunFolder& folder, const sys::SharedLock* claim, sys::System& system) {
  std::vector<int> handed_over = {folder.lock_fd()};
  if (claim != nullptr) handed_over.push_back(claim->fd());
  system.processes.start_detached({"/proc/self/exe", "__wait", folder.note().run},
                                  folder.waiter_log().string(), handed_over);
}

void await_keeper(const RunFolder& folder, sys::System& system, std::optional<milliseconds> limit) {
  constexpr milliseconds step{20};
  const milliseconds start = system.clock.monotonic();
  while (sys::path_exists(folder.path()) && folder.has_holder()) {
    if (limit && system.clock.monotonic() - start >= *limit) return;
    system.clock.sleep(step);
    system.terminal.throw_if_interrupted();
  }
}

void remove_ended(const RunFolder& folder, engine::Engine& engine) {
  if (!sys::regular_file_size(folder.log()) && !save_output(folder, engine)) return;
  try {
    engine.remove(folder.container());
    sys::remove_file(folder.cidfile());  // nothing is left to be looked for
  } catch (const Error&) {
    // The next command tries again.
  }
}

bool is_detached(const plan::RunPlan& plan) { return plan.find("detach") != nullptr; }

bool launch_in_background(const Prepared& prepared, const EnsuredImage& ensured,
                          const preflight::Report* report, engine::Engine& engine,
                          const sys::SharedLock* claim, Recorder& recorder, sys::System& system) {
  create_mount_sources(prepared.plan);
  plan::LaunchExtras extras = launch_extras(prepared);
  extras.client_environment = read_file_variables(prepared.plan);
  RunNote note = note_of(prepared, extras.name, system.environment);
  note.is_detached = true;
  note.launched = to_rfc3339(system.clock.now());
  note.removes = prepared.plan.find("remove") != nullptr;
  RunFolder folder = RunFolder::make(system.environment, note);
  extras.cidfile = folder.cidfile().string();
  try {
    const std::vector<std::string> argv = plan::run_argv(detached_plan(prepared.plan), &extras);
    recorder.append(audit::run_start(prepared.id, record_context(prepared, argv, report, system)));
    engine.start_detached(argv, extras.client_environment);
  } catch (const Error&) {
    remove_unstarted(folder, engine);
    folder.remove();
    throw;
  }
  // The job runs: from here on nothing is a refusal any more.
  try {
    const auto state = engine.find_container(folder.container());
    recorder.append_or_warn(bound_record(prepared, ensured, folder.container(), state));
    if (state) save(folder.known_start(), state->started + "\n");
    start_waiter(folder, claim, system);
  } catch (const Error&) {
    return false;
  }
  start_watcher(folder, system);
  return true;
}

void stay_with(RunFolder& folder, engine::Engine& engine, Recorder& recorder, sys::System& system) {
  folder.hold();
  if (folder.has_ended()) return;
  KnownStart known{folder};
  const std::string container = folder.container();
  const RunNote& note = folder.note();
  std::optional<milliseconds> end = end_of(note, system.clock);
  bool has_timed_out = false;
  while (true) {
    const auto state = ask_patiently(system, [&] { return engine.find_container(container); });
    if (!state) return;  // somebody removed it; how it ended nobody can tell
    if (known.has_changed(*state))
      recorder.append_or_warn(audit::run_restart(note.run, state->restarts));
    if (state->status == "restarting") {
      system.clock.sleep(restart_pause);
      system.terminal.throw_if_interrupted();
    } else if (!state->is_running) {
      return close_run(folder, *state,
                       {has_timed_out ? timed_out_exit : state->exit, has_timed_out}, engine,
                       recorder, system);
    } else if (!wait_for_end(container, end, engine, system)) {
      has_timed_out = true;
      end.reset();
      ask_patiently(system, [&] { engine.stop(container, stop_grace); });
    }
  }
}

bool close_from_engine(const RunFolder& folder, engine::Engine& engine, Recorder& recorder,
                       sys::System& system) {
  if (folder.has_ended()) return true;
  const auto state = engine.find_container(folder.container());
  if (!state || state->is_running) return false;
  if (state->status == "created") {  // it never ran, so it has no end
    engine.remove(state->id);
    return false;
  }
  close_run(folder, *state, {.exit = state->exit}, engine, recorder, system);
  return true;
}

}  // namespace sparkrun::run
