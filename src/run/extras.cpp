// SPDX-License-Identifier: MIT
#include "run/extras.hpp"

#include "audit/record.hpp"
#include "base/json_value.hpp"
#include "base/text.hpp"
#include "engine/docker.hpp"
#include "sys/files.hpp"

#include <fmt/format.h>

namespace sparkrun::run {
namespace {

// What the job is told that it runs: the digest that the tag stood for, else the one that is run
// by.
std::string digest_of(const plan::PinnedImage& image) {
  if (!image.index.empty()) return image.index;
  return image.manifest.empty() ? image.run_as.substr(image.run_as.find('@') + 1) : image.manifest;
}

}  // namespace

std::string label(const engine::ContainerState& container, std::string_view name) {
  const auto found = container.labels.find(std::string{name});
  return found == container.labels.end() ? "" : found->second;
}

plan::LaunchExtras launch_extras(const Prepared& prepared) {
  const plan::RunPlan& plan = prepared.plan;
  const std::string digest = digest_of(plan.image);
  const std::string name = plan.profile.name.empty() ? "image" : plan.profile.name;
  plan::LaunchExtras extras;
  // The end of a ULID is random: two runs in one second have different names.
  extras.name = plan.name().empty()
                    ? fmt::format("sparkrun-{}-{}", name,
                                  to_lower(prepared.id.substr(prepared.id.size() - 6)))
                    : plan.name();
  extras.labels = {{std::string{run_label}, prepared.id},
                   {std::string{profile_label}, plan.profile.name},
                   {std::string{digest_label}, digest}};
  if (prepared.exclusive) extras.labels.emplace_back(exclusive_label, "true");
  extras.env = {{"SPARKRUN_RUN_ID", prepared.id}, {"SPARKRUN_IMAGE_DIGEST", digest}};
  return extras;
}

void create_mount_sources(const plan::RunPlan& plan) {
  for (const plan::ResolvedMount& mount : plan.mounts) {
    if (mount.must_create) sys::make_directories(mount.source, 0755);
  }
}

RunNote note_of(const Prepared& prepared, const std::string& container,
                const sys::Environment& environment) {
  const bool is_docker = prepared.plan.engine.name == "docker";
  return {.run = prepared.id,
          .profile = prepared.plan.profile.name,
          .container = container,
          .engine = prepared.plan.engine.name,
          .engine_command = prepared.plan.engine.command,
          .engine_host = is_docker ? engine::docker_host(environment) : "",
          .boot = prepared.host.boot_id,
          .is_exclusive = prepared.exclusive.has_value(),
          .limit_s = prepared.limit.value_or(std::chrono::seconds{0}).count(),
          .ready = prepared.plan.profile.ready,
          .status_file = prepared.status_file};
}

Json bound_record(const Prepared& prepared, const EnsuredImage& ensured,
                  const std::string& container,
                  const std::optional<engine::ContainerState>& state) {
  return audit::run_bound(
      prepared.id,
      {.container = container,
       .image = state ? state->image : "",
       .repo_digests = ensured.image.repo_digests,
       .matches = state && state->image == ensured.image.id ? ensured.matched_by : ""});
}

}  // namespace sparkrun::run
