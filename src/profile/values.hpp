// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace sparkrun::profile {

// `512`, `-1`, `1.5`.
bool is_number(std::string_view text);

// Bytes as docker reads them (`16g`, `512 MiB`, `1.5GB`).
bool is_size(std::string_view text);

// `[A-Za-z_][A-Za-z0-9_]*` (POSIX, Base Definitions 8.1).
bool is_variable_name(std::string_view text);

// Whether docker would take a mount source for the name of a volume, not for a path.
bool is_volume_name(std::string_view source);

// Can stand before `=` in a word: not empty, no `=`, no blanks, no control characters.
bool is_plain_name(std::string_view text);

}  // namespace sparkrun::profile
