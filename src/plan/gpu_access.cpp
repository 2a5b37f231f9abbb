// SPDX-License-Identifier: MIT
#include "plan/gpu_access.hpp"

#include "base/error.hpp"
#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sparkrun::plan {
namespace {

using profile::GpuAccess;

constexpr std::string_view nvidia_runtime = "nvidia";
constexpr long long device_count_max = 64;

GpuChoice choose_automatically(const engine::EngineFacts* facts) {
  if (facts == nullptr) {
    return {GpuAccess::runtime_and_gpus, "",
            "no engine was asked; this is the form documented for DGX Spark"};
  }
  if (facts->name == "podman")
    return {GpuAccess::cdi, "", "podman reaches NVIDIA GPUs through CDI"};
  if (facts->has_runtime(nvidia_runtime)) {
    // In that mode the runtime refuses to work next to --gpus, whose hook is the legacy mode's.
    if (facts->toolkit_mode == "cdi") {
      return {GpuAccess::runtime, "",
              "the engine has the runtime nvidia, and its toolkit is in cdi mode"};
    }
    return {GpuAccess::runtime_and_gpus, "", "the engine has a runtime called nvidia"};
  }
  if (facts->has_nvidia_cdi) {
    return {GpuAccess::cdi, "", "the engine has no runtime called nvidia, but a CDI specification"};
  }
  return {GpuAccess::gpus, "",
          "the engine has neither a runtime called nvidia nor a CDI specification"};
}

// The id of the error says what is missing, since each is mended in another way.
void require(GpuAccess access, const engine::EngineFacts& facts) {
  const bool wants_runtime = access == GpuAccess::runtime || access == GpuAccess::runtime_and_gpus;
  const std::string wish = fmt::format("`gpu.access = \"{}\"`", to_string(access));
  if (facts.name == "podman") {
    // Podman 4 takes --gpus and ignores it; its --runtime names a program of its own configuration.
    const bool is_old = split_once(facts.version, '.').first == "4";
    if ((access == GpuAccess::gpus && is_old) || (wants_runtime && !facts.version.empty())) {
      throw Error{"engine.gpu_access",
                  fmt::format("{} is docker's way to the GPU; podman has CDI", wish)};
    }
    if (access != GpuAccess::cdi) return;
  }
  if (wants_runtime && !facts.has_runtime(nvidia_runtime)) {
    // Of a remote engine's host nobody knows what is installed.
    const bool is_unregistered = facts.has_toolkit || facts.is_remote;
    throw Error{
        is_unregistered ? "engine.runtime_missing" : "engine.toolkit_missing",
        fmt::format("{} needs a runtime called nvidia, which {} does not have (its runtimes: {}){}",
                    wish, facts.name, facts.runtimes.empty() ? "none" : join(facts.runtimes, ", "),
                    is_unregistered ? "" : ", and the NVIDIA Container Toolkit is not installed")};
  }
  if (access == GpuAccess::cdi && !facts.has_nvidia_cdi && !facts.is_remote) {
    throw Error{"engine.cdi_missing",
                fmt::format("{} needs a CDI specification for nvidia.com/gpu, and {} has none",
                            wish, facts.name)};
  }
}

// `device=0,1,capabilities=utility` -> `device=0,1` and `capabilities=utility`: a part without `=`
// belongs to the field before it.
std::vector<std::string> fields(std::string_view devices) {
  std::vector<std::string> result;
  for (const std::string_view part : split(devices, ',')) {
    const bool is_continuation = part.find('=') == std::string_view::npos && !result.empty() &&
                                 result.back().starts_with("device=");
    if (is_continuation)
      result.back().append(",").append(part);
    else
      result.emplace_back(part);
  }
  return result;
}

}  // namespace

profile::Gpu requested_gpu(const profile::Profile& profile, const RunOptions& options) {
  profile::Gpu gpu = profile.gpu;
  gpu.devices = options.gpu_devices.value_or(gpu.devices);
  // Whoever names devices wants a GPU.
  if (options.gpu_devices && gpu.access == GpuAccess::none) gpu.access = GpuAccess::automatic;
  gpu.access = options.gpu_access.value_or(gpu.access);
  return gpu;
}

GpuChoice choose_gpu_access(const profile::Gpu& gpu, const engine::EngineFacts* facts) {
  GpuChoice choice;
  if (gpu.access == GpuAccess::automatic) {
    choice = choose_automatically(facts);
  } else {
    if (facts != nullptr) require(gpu.access, *facts);
    choice.access = gpu.access;
    choice.reason = fmt::format("`gpu.access = \"{}\"`", to_string(gpu.access));
  }
  choice.devices = gpu.devices;
  return choice;
}

std::string gpus_value(std::string_view devices) {
  if (devices.find('"') != std::string_view::npos)
    return std::string{devices};  // quoted by its author
  std::vector<std::string> result = fields(devices);
  for (std::string& field : result) {
    if (field.find(',') != std::string::npos) field = '"' + field + '"';
  }
  return join(result, ",");
}

namespace {

// The devices among the fields: `device=0,1`, `count=2`, `all`, `2`.
std::string device_list(std::string_view devices) {
  std::string plain{devices};
  std::erase(plain, '"');
  std::string list;
  for (const std::string& field : fields(plain)) {
    const auto [key, value] = split_once(field, '=');
    if (key == "device" || key == "count")
      list = value;
    else if (value.empty())
      list = key;
  }
  return list.empty() ? "all" : list;
}

}  // namespace

std::vector<std::string> device_names(std::string_view devices) {
  std::string list = device_list(devices);
  const bool is_count = devices.find("device=") == std::string_view::npos;
  if (const auto count = parse_number(list); count && is_count) {  // `--gpus 2`: any two
    list.clear();
    for (long long n = 0; n < std::clamp(*count, 1LL, device_count_max); ++n) {
      list += (n == 0 ? "" : ",") + std::to_string(n);
    }
  }
  std::vector<std::string> names;
  for (const std::string_view name : split(list, ',')) names.emplace_back(name);
  return names;
}

}  // namespace sparkrun::plan
