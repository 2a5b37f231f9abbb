// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace sparkrun::run {

// What the engine lists all pinned tags by, and what a user may have named so as well.
constexpr std::string_view pinned_tags_pattern = "sparkrun/*";

// `sparkrun/PROFILE:pinned-` and 12 hex digits of the digest that `run_as` names: keeps a pulled
// image from `docker image prune`.
std::string pinned_tag(const std::string& profile, const std::string& run_as);

// Whether pinned_tag() gave the name; podman writes its own registry (`localhost/`) before it.
bool is_pinned_tag(std::string_view tag);

}  // namespace sparkrun::run
