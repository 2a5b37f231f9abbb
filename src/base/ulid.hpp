// SPDX-License-Identifier: MIT
#pragma once

#include "base/time.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace sparkrun {

// 26 characters of Crockford base32: 48 bits of milliseconds, 80 random bits (the ULID spec), so
// ids sort by time.
std::string make_ulid(TimePoint time, const std::array<uint8_t, 10>& randomness);
bool is_ulid(std::string_view text);
constexpr size_t ulid_prefix_length_min = 4;
// Whether a user who typed `text` may mean `ulid`: the start of it, long enough, in either case.
bool names_ulid(std::string_view text, std::string_view ulid);

}  // namespace sparkrun
