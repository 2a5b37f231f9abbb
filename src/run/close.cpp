// SPDX-License-Identifier: MIT
#include "run/close.hpp"

#include "base/json_value.hpp"
#include "base/text.hpp"
#include "plan/argv.hpp"
#include "sys/files.hpp"

#include <fmt/format.h>

namespace sparkrun::run {
namespace {

constexpr int engine_refused = 125;  // docker run, "Exit status"

// A folder of our own for the --cidfile, gone with the run.
class RunFolder {
 public:
  RunFolder(const sys::Environment& environment, const std::string& run)
      : path_(environment.state_directory() / "runs" / run) {
    sys::make_directories(path_, 0700);
  }
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;
  ~RunFolder() {
    sys::remove_file(cidfile());
    sys::remove_file(path_);
  }
  [[nodiscard]] fs::path cidfile() const { return path_ / "cid"; }

 private:
  fs::path path_;
};

// What the job is told that it runs: the digest that the tag stood for, else the one that is run
// by.
std::string digest_of(const plan::PinnedImage& image) {
  if (!image.index.empty()) return image.index;
  return image.manifest.empty() ? image.run_as.substr(image.run_as.find('@') + 1) : image.manifest;
}

plan::LaunchExtras launch_extras(const Prepared& prepared, const fs::path& cidfile) {
  const plan::RunPlan& plan = prepared.plan;
  const std::string digest = digest_of(plan.image);
  const std::string name = plan.profile.name.empty() ? "image" : plan.profile.name;
  plan::LaunchExtras extras{.cidfile = cidfile.string()};
  // The end of a ULID is random: two runs in one second have different names.
  extras.name = plan.name().empty()
                    ? fmt::format("sparkrun-{}-{}", name,
                                  to_lower(prepared.id.substr(prepared.id.size() - 6)))
                    : plan.name();
  extras.labels = {{"dev.sparkrun.run", prepared.id},
                   {"dev.sparkrun.profile", plan.profile.name},
                   {"dev.sparkrun.digest", digest}};
  extras.env = {{"SPARKRUN_RUN_ID", prepared.id}, {"SPARKRUN_IMAGE_DIGEST", digest}};
  return extras;
}

// As the calling user: docker would create a missing source as root.
void create_mount_sources(const plan::RunPlan& plan) {
  for (const plan::ResolvedMount& mount : plan.mounts) {
    if (mount.must_create) sys::make_directories(mount.source, 0755);
  }
}

}  // namespace

Closing launch_recorded(const Prepared& prepared, const EnsuredImage& ensured,
                        const preflight::Report* report, engine::Engine& engine, Recorder& recorder,
                        sys::System& system) {
  create_mount_sources(prepared.plan);
  const RunFolder folder{system.environment, prepared.id};
  plan::LaunchExtras extras = launch_extras(prepared, folder.cidfile());
  extras.client_environment = read_file_variables(prepared.plan);
  const std::vector<std::string> argv = plan::run_argv(prepared.plan, &extras);
  recorder.append(audit::run_start(prepared.id, record_context(prepared, argv, report, system)));

  const auto on_bound = [&](const std::string& container,
                            const std::optional<engine::ContainerState>& state) {
    recorder.append_or_warn(audit::run_bound(
        prepared.id,
        {.container = container,
         .image = state ? state->image : "",
         .repo_digests = ensured.image.repo_digests,
         .matches = state && state->image == ensured.image.id ? ensured.matched_by : ""}));
  };
  Closing closing{.run = prepared.id,
                  .ended = launch(prepared.plan, extras, engine, system, on_bound)};
  const Ended& ended = closing.ended;
  closing.origin = ended.exit == engine_refused ? "engine" : "container";
  recorder.append_or_warn(audit::run_end(
      prepared.id, {.exit = ended.exit,
                    .signal = ended.exit > 128 && ended.exit < 128 + 65 ? ended.exit - 128 : 0,
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
