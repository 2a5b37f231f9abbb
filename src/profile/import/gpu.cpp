// SPDX-License-Identifier: MIT
#include "profile/import/gpu.hpp"

#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sparkrun::profile {
namespace {

constexpr std::string_view cdi_prefix = "nvidia.com/gpu=";
constexpr std::string_view nvidia_runtime = "nvidia";

// `"device=0,1"`, quoted for docker's CSV: the profile says it without the quotes, which come back
// with the comma.
std::string plain_devices(const std::string& value) {
  const std::string inner = value.size() > 2 && value.starts_with('"') && value.ends_with('"')
                                ? value.substr(1, value.size() - 2)
                                : "";
  return inner.empty() || inner.find('"') != std::string::npos ? value : inner;
}

// `device=0,1` without inner quotes: docker reads two fields, and the second as a number of GPUs.
bool is_malformed(const std::string& value) {
  if (value.find('"') != std::string::npos) return false;
  const auto fields = split(value, ',');
  const bool names_devices =
      std::ranges::any_of(fields, [](auto field) { return field.starts_with("device="); });
  return names_devices && std::ranges::any_of(fields, [](auto field) {
           return field.find('=') == std::string_view::npos;
         });
}

void add_option(Draft& draft, std::string_view flag, std::vector<std::string> values) {
  const Option* const option = find_by_flag(flag);
  const auto found = std::ranges::find(draft.profile.container, option, &OptionValue::option);
  if (found == draft.profile.container.end())
    draft.profile.container.push_back({.option = option, .values = std::move(values)});
  else
    found->values.insert(found->values.end(), values.begin(), values.end());
}

}  // namespace

void GpuRequest::add_request(Draft& draft, const std::string& value) {
  const bool has_control = std::ranges::any_of(
      value, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
  if (value.empty() || has_control) {
    refuse_word("--gpus=" + value, "docker wants to know which GPUs", "write `--gpus all`");
  }
  if (is_malformed(value)) {
    draft.warn(
        fmt::format("`--gpus {0}`: docker takes the comma for the end of the list and refuses "
                    "it; imported as `--gpus '\"{0}\"'`",
                    shown(value)));
  }
  if (std::ranges::find(requests_, value) != requests_.end())
    draft.note("`--gpus` is given twice");
  else
    requests_.push_back(value);
}

bool GpuRequest::add_device(const std::string& value) {
  if (!value.starts_with(cdi_prefix)) return false;
  const std::string name = value.substr(cdi_prefix.size());
  // What separates devices in a profile, and what is more than a name.
  if (name.empty() || name.find_first_of(",\"= ") != std::string::npos) return false;
  devices_.push_back(name);
  return true;
}

void GpuRequest::keep_devices(Draft& draft) const {
  std::vector<std::string> names;
  for (const std::string& name : devices_) names.push_back(std::string{cdi_prefix} + name);
  if (!names.empty()) add_option(draft, "--device", names);
}

void GpuRequest::write(Draft& draft) const {
  Gpu& gpu = draft.profile.gpu;
  const bool has_nvidia = runtime == nvidia_runtime;
  bool keeps_runtime = !runtime.empty();
  if (!requests_.empty()) {
    gpu.access = has_nvidia ? GpuAccess::runtime_and_gpus : GpuAccess::gpus;
    gpu.devices = plain_devices(requests_.front());
    keeps_runtime = keeps_runtime && !has_nvidia;
    keep_devices(draft);
    for (size_t i = 1; i < requests_.size(); ++i) {
      draft.profile.extra_args.push_back("--gpus=" + requests_[i]);
    }
  } else if (!devices_.empty()) {
    gpu.access = GpuAccess::cdi;
    gpu.devices =
        devices_ == std::vector<std::string>{"all"} ? "all" : "device=" + join(devices_, ",");
  } else if (has_nvidia) {
    // Nothing says which devices: the line, or else the image, sets NVIDIA_VISIBLE_DEVICES.
    gpu.access = GpuAccess::runtime;
    gpu.devices = "";
    keeps_runtime = false;
  } else {
    gpu.access = GpuAccess::none;
  }
  if (keeps_runtime) add_option(draft, "--runtime", {runtime});
}

}  // namespace sparkrun::profile
