// SPDX-License-Identifier: MIT
#pragma once

#include "plan/run_plan.hpp"

#include <optional>
#include <string>
#include <vector>

namespace sparkrun::plan {

// The words of `docker run` or `podman run` for a plan (both take the same); without `extras` the
// line that a person would type, in the order of NVIDIA's documentation: GPU, terminal, container
// options, mounts, variables, image, command.
std::vector<std::string> run_argv(const RunPlan& plan, const LaunchExtras* extras = nullptr);

// The short container that looks at the image before the job starts.
struct ProbeRequest {
  std::string name;
  // Replaces the image's entrypoint where that is an application; none: the entrypoint is a
  // wrapper, and the probe runs through it as the job will.
  std::optional<std::string> entrypoint;
};

// A container that reads a script on stdin (`sh -s`), with what the job has of GPU, ipc, limits,
// security, devices, user, variables and existing folders, the latter read-only; without network,
// ports, restart, name or terminal of the job. An entrypoint that the profile sets is the job's own
// program, so `sh` takes its place.
std::vector<std::string> probe_argv(const RunPlan& plan, const ProbeRequest& request);

}  // namespace sparkrun::plan
