// SPDX-License-Identifier: MIT
#include "profile/profile.hpp"

#include <algorithm>
#include <array>

namespace sparkrun::profile {
namespace {

struct AccessName {
  GpuAccess access;
  std::string_view name;
};
constexpr std::array access_names = std::to_array<AccessName>({
    {GpuAccess::automatic, "auto"},
    {GpuAccess::runtime_and_gpus, "runtime+gpus"},
    {GpuAccess::runtime, "runtime"},
    {GpuAccess::gpus, "gpus"},
    {GpuAccess::cdi, "cdi"},
    {GpuAccess::none, "none"},
});

constexpr size_t profile_name_length_max = 63;

}  // namespace

std::string_view to_string(Origin origin) {
  switch (origin) {
    case Origin::project:
      return "project";
    case Origin::user:
      return "user";
    case Origin::system:
      return "system";
    case Origin::built_in:
      return "built-in";
    case Origin::image:
      break;
  }
  return "image";
}

std::string_view to_string(GpuAccess access) {
  return std::ranges::find(access_names, access, &AccessName::access)->name;
}

std::optional<GpuAccess> parse_gpu_access(std::string_view text) {
  const auto found = std::ranges::find(access_names, text, &AccessName::name);
  return found == access_names.end() ? std::nullopt : std::optional{found->access};
}

bool is_profile_name(std::string_view text) {
  constexpr std::string_view allowed = "abcdefghijklmnopqrstuvwxyz0123456789_-";
  return !text.empty() && text.size() <= profile_name_length_max && text.front() != '_' &&
         text.front() != '-' && text.find_first_not_of(allowed) == std::string_view::npos;
}

}  // namespace sparkrun::profile
