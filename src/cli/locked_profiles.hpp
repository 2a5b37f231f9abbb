// SPDX-License-Identifier: MIT
#pragma once

#include "cli/command.hpp"
#include "lock/drift.hpp"
#include "profile/store.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace sparkrun::cli {

// The profiles that a command is about: those that were named, else all of the project. Throws
// `usage.missing_argument` where there is none; `command` is for its hint.
std::vector<std::string> chosen_profiles(const std::vector<std::string>& names,
                                         const profile::Store& store, std::string_view command);

// Their locks. Throws one error for all that have none: `lock.missing`, naming each.
std::vector<lock::LockedProfile> locked_profiles(const std::vector<std::string>& names,
                                                 std::string_view command, Context& context);

}  // namespace sparkrun::cli
