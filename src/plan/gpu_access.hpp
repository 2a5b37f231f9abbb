// SPDX-License-Identifier: MIT
#pragma once

#include "engine/engine.hpp"
#include "plan/run_plan.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace sparkrun::plan {

// The profile's wish, with what the command line says instead.
profile::Gpu requested_gpu(const profile::Profile& profile, const RunOptions& options);

// Turns `auto` into one way that the engine offers; `facts` is null where no engine was asked. An
// explicit way is kept, and throws when the engine is known to lack it: `engine.toolkit_missing`,
// `engine.runtime_missing`, `engine.cdi_missing`, `engine.gpu_access`.
GpuChoice choose_gpu_access(const profile::Gpu& gpu, const engine::EngineFacts* facts);

// The value of --gpus: docker reads it as CSV, so a field that holds a comma is put in double
// quotes
// (`"device=0,1"`).
std::string gpus_value(std::string_view devices);

// The same devices one by one, as CDI and NVIDIA_VISIBLE_DEVICES name them: `all`, `0`, `GPU-8f..`.
std::vector<std::string> device_names(std::string_view devices);

}  // namespace sparkrun::plan
