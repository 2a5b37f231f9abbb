// SPDX-License-Identifier: MIT
#pragma once

#include "cli/arguments.hpp"
#include "profile/store.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace sparkrun::cli {

// The profiles that a command's PROFILE arguments name; all of the project when there are none.
// Throws `usage.missing_argument` when there are none of these either; `purpose`: "to lock".
std::vector<std::string> chosen_profiles(const Arguments& arguments, const profile::Store& store,
                                         std::string_view command, std::string_view purpose);

}  // namespace sparkrun::cli
