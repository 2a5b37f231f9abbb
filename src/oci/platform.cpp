// SPDX-License-Identifier: MIT
#include "oci/platform.hpp"

#include "base/error.hpp"
#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sparkrun::oci {
bool Platform::is_part(std::string_view text) {
  constexpr size_t length_max = 64;
  constexpr std::string_view allowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  return !text.empty() && text.size() <= length_max &&
         text.find_first_not_of(allowed) == std::string_view::npos;
}

Platform Platform::of(std::string_view os, std::string_view architecture,
                      std::string_view variant) {
  Platform platform{
      .os = to_lower(os), .architecture = to_lower(architecture), .variant = to_lower(variant)};
  if (platform.architecture == "aarch64") platform.architecture = "arm64";
  if (platform.architecture == "x86_64") platform.architecture = "amd64";
  if (platform.architecture == "arm64" && platform.variant == "v8") platform.variant.clear();
  if (platform.architecture == "arm" && platform.variant.empty()) platform.variant = "v7";
  return platform;
}

Platform Platform::parse(std::string_view text) {
  const auto parts = split(text, '/');
  if (parts.size() < 2 || parts.size() > 3 || !std::ranges::all_of(parts, &Platform::is_part)) {
    throw Error{"platform.malformed", fmt::format("`{}` is not a platform", printable(text))};
  }
  return of(parts[0], parts[1], parts.size() == 3 ? parts[2] : "");
}

std::string Platform::to_string() const {
  return os + "/" + architecture + (variant.empty() ? "" : "/" + variant);
}

bool Platform::matches(const Platform& wanted) const {
  return os == wanted.os && architecture == wanted.architecture &&
         (variant.empty() || variant == wanted.variant);
}

}  // namespace sparkrun::oci
