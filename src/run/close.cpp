// SPDX-License-Identifier: MIT
#include "run/close.hpp"

#include "base/json_value.hpp"
#include "base/text.hpp"
#include "plan/argv.hpp"
#include "run/extras.hpp"
#include "run/readiness.hpp"
#include "run/run_folder.hpp"
#include "sys/files.hpp"

#include <fmt/format.h>

namespace sparkrun::run {
namespace {

constexpr int engine_refused = 125;  // docker run, "Exit status"

// The folder of a run in front is gone with the run.
class FolderOfRun {
 public:
  explicit FolderOfRun(RunFolder folder) : folder_(std::move(folder)) {}
  FolderOfRun(const FolderOfRun&) = delete;
  FolderOfRun& operator=(const FolderOfRun&) = delete;
  ~FolderOfRun() {
    if (!is_kept_) folder_.remove();
  }
  void keep() { is_kept_ = true; }
  [[nodiscard]] fs::path cidfile() const { return folder_.cidfile(); }
  void watch(sys::System& system) const { start_watcher(folder_, system); }

 private:
  RunFolder folder_;
  bool is_kept_ = false;
};

}  // namespace

Closing launch_recorded(const Prepared& prepared, const EnsuredImage& ensured,
                        const preflight::Report* report, engine::Engine& engine, Recorder& recorder,
                        sys::System& system) {
  create_mount_sources(prepared.plan);
  plan::LaunchExtras extras = launch_extras(prepared);
  extras.client_environment = read_file_variables(prepared.plan);
  FolderOfRun folder{
      RunFolder::make(system.environment, note_of(prepared, extras.name, system.environment))};
  extras.cidfile = folder.cidfile().string();
  const std::vector<std::string> argv = plan::run_argv(prepared.plan, &extras);
  recorder.append(audit::run_start(prepared.id, record_context(prepared, argv, report, system)));

  const auto on_bound = [&](const std::string& container,
                            const std::optional<engine::ContainerState>& state) {
    recorder.append_or_warn(bound_record(prepared, ensured, container, state));
    folder.watch(system);
  };
  Closing closing{.run = prepared.id,
                  .ended = launch(prepared.plan, extras, prepared.limit, engine, system, on_bound)};
  const Ended& ended = closing.ended;
  closing.origin = ended.has_timed_out                             ? "sparkrun"
                   : ended.is_lost || ended.exit == engine_refused ? "engine"
                                                                   : "container";
  if (ended.is_lost) {
    folder.keep();  // for the next command, which says what has become of the run
    return closing;
  }
  recorder.append_or_warn(
      audit::run_end(prepared.id, {.exit = ended.exit,
                                   .is_oom_killed = ended.is_oom.value_or(false),
                                   .duration = ended.duration}));
  return closing;
}

void record_refusal(const Prepared& prepared, const Error& error,
                    const std::optional<preflight::Report>& report, Recorder& recorder,
                    sys::System& system) {
  try {
    recorder.append_or_warn(audit::run_refused(
        prepared.id,
        record_context(prepared, plan::run_argv(prepared.plan), report ? &*report : nullptr,
                       system),
        {.error = std::string{error.id()}, .message = error.what(), .problems = error.problems()}));
  } catch (const Error&) {
    // Interrupted once more, or git hangs: what matters is already on its way to the user.
  }
}

void StatusFile::write(const Closing& closing) const {
  write_json(Json{{"origin", closing.origin},
                  {"exit", closing.ended.exit},
                  {"error", nullptr},
                  {"run", closing.run},
                  {"retry", closing.origin == "engine"}});
}

void StatusFile::write_refusal(const Error& error, int exit) const {
  write_json(Json{{"origin", "sparkrun"},
                  {"exit", exit},
                  {"error", error.id()},
                  {"run", nullptr},
                  {"retry", error.kind().retry}});
}

void StatusFile::write_json(const Json& json) const {
  if (!path_.empty()) sys::write_file_atomically(path_, to_json_line(json) + "\n");
}

}  // namespace sparkrun::run
