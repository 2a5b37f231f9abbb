// SPDX-License-Identifier: MIT
#pragma once

#include "base/json.hpp"
#include "run/ensure_image.hpp"
#include "run/prepare.hpp"
#include "run/run_folder.hpp"

namespace sparkrun::run {

// By these labels a container is known to be a run of sparkrun, and which.
constexpr std::string_view run_label = "dev.sparkrun.run";
constexpr std::string_view profile_label = "dev.sparkrun.profile";
constexpr std::string_view digest_label = "dev.sparkrun.digest";
constexpr std::string_view exclusive_label = "dev.sparkrun.exclusive";  // it has the GPU to itself

// The value of a container's label; empty: it has none.
std::string label(const engine::ContainerState& container, std::string_view name);

// What a launch adds to the plan: name, labels and variables; no cidfile yet, no values of files.
plan::LaunchExtras launch_extras(const Prepared& prepared);

// What others have to know of the run; `container` is its name.
RunNote note_of(const Prepared& prepared, const std::string& container,
                const sys::Environment& environment);

// `run.bound`: what the engine made of the run; `state` is nothing where it was gone before it
// could be asked.
Json bound_record(const Prepared& prepared, const EnsuredImage& ensured,
                  const std::string& container, const std::optional<engine::ContainerState>& state);

// Makes the folders that mounts ask for, as the calling user: docker would create them as root.
// Throws `file.unwritable`.
void create_mount_sources(const plan::RunPlan& plan);

}  // namespace sparkrun::run
