// SPDX-License-Identifier: MIT
#include "run/pinned_tag.hpp"

#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sparkrun::run {
namespace {

constexpr std::string_view folder = "sparkrun/", mark = ":pinned-";
constexpr size_t digits = 12;

}  // namespace

std::string pinned_tag(const std::string& profile, const std::string& run_as) {
  // A profile's name may hold what a repository's may not (distribution/reference).
  std::string name = profile;
  std::ranges::replace(name, '_', '-');
  while (name.ends_with('-')) name.pop_back();
  const std::string digest = run_as.substr(run_as.rfind(':') + 1);
  return fmt::format("{}{}{}{}", folder, name, mark, digest.substr(0, digits));
}

bool is_pinned_tag(std::string_view tag) {
  constexpr std::string_view local = "localhost/";
  if (tag.starts_with(local)) tag.remove_prefix(local.size());
  const size_t at = tag.find(mark);
  return tag.starts_with(folder) && at != std::string_view::npos &&
         is_lower_hex(tag.substr(at + mark.size()), digits);
}

}  // namespace sparkrun::run
