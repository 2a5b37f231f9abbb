// SPDX-License-Identifier: MIT
#pragma once

#include "base/toml.hpp"
#include "profile/profile.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace sparkrun::profile {

// The format version that this sparkrun reads.
constexpr long long profile_version = 1;

// Parses one file and checks everything in it that can be judged without the profiles that it
// extends. Throws `profile.newer`, or `profile.invalid` with *all* faults, each
// `SOURCE_NAME:LINE:COLUMN: ...`.
TomlNode parse_profile(std::string_view text, const std::string& source_name);

// The name after `extends`, if there is one.
std::optional<std::string> extended_name(const TomlNode& root);

// What `over` says on top of `base`: tables merge, arrays and scalars replace.
TomlNode merge_profiles(const TomlNode& base, const TomlNode& over);

// The value of a document that parse_profile() gave, after merging. Sets nothing of name, origin,
// path and sha256. Throws `profile.invalid` where the whole lacks something (`image`) or
// contradicts itself.
Profile build_profile(const TomlNode& root, const std::string& source_name);

// For a text that stands alone: `extends` is checked and then ignored.
Profile read_profile(std::string_view text, const std::string& source_name);

}  // namespace sparkrun::profile
