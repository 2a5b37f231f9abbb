// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sparkrun {

// The candidate that was most likely meant, or nothing when none is near enough to be worth saying.
std::optional<std::string> nearest(std::string_view typed,
                                   const std::vector<std::string>& candidates);

// ` (did you mean `x`?)`, or the empty string.
std::string did_you_mean(std::string_view typed, const std::vector<std::string>& candidates);

}  // namespace sparkrun
