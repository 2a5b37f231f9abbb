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

// profiles/NAME.toml of a project: writes it, over one that is there (also a link) only when
// `is_forced`. Gives its path. Throws `profile.exists`, `file.unwritable`.
sys::fs::path write_profile(const profile::Project& project, const std::string& name,
                            const std::string& text, bool is_forced);

// Throws `usage.bad_value` for what is not a profile's name.
void require_profile_name(const std::string& name, std::string_view command);

}  // namespace sparkrun::cli
