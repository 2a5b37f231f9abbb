// SPDX-License-Identifier: MIT
#include "engine/toolkit.hpp"

#include "base/error.hpp"
#include "base/toml.hpp"
#include "sys/files.hpp"

#include <algorithm>
#include <array>
#include <variant>

namespace sparkrun::engine {
namespace {

constexpr std::string_view toolkit_config = "/etc/nvidia-container-runtime/config.toml";
constexpr std::array toolkit_programs = std::to_array<std::string_view>(
    {"nvidia-ctk", "nvidia-container-runtime", "nvidia-container-runtime-hook"});

bool names_nvidia_gpu(const sys::fs::path& folder) {
  try {
    return std::ranges::any_of(sys::list_files(folder), [&](const std::string& name) {
      return sys::read_file(folder / name).value_or("").find("nvidia.com/gpu") != std::string::npos;
    });
  } catch (const Error&) {
    return false;  // what cannot be read here is not known to be there
  }
}

}  // namespace

std::string toolkit_mode() {
  try {
    const auto parsed = parse_toml(sys::read_file(toolkit_config).value_or(""));
    if (const auto* root = std::get_if<TomlNode>(&parsed)) {
      const TomlNode* const section = root->find("nvidia-container-runtime");
      const TomlNode* const mode = section != nullptr ? section->find("mode") : nullptr;
      if (mode != nullptr) return mode->string;
    }
  } catch (const Error&) {
    // Unreadable is unknown: the toolkit's own default applies.
  }
  return {};
}

bool has_toolkit(const sys::Environment& environment) {
  return std::ranges::any_of(toolkit_programs, [&](std::string_view program) {
    return environment.find_program(program).has_value() ||
           sys::path_exists(sys::fs::path{"/usr/bin"} / program);
  });
}

bool has_nvidia_specification(const std::vector<std::string>& folders) {
  return std::ranges::any_of(folders,
                             [](const std::string& folder) { return names_nvidia_gpu(folder); });
}

}  // namespace sparkrun::engine
