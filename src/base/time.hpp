// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace sparkrun {

using TimePoint = std::chrono::sys_time<std::chrono::milliseconds>;

// `2026-07-14T09:12:03.114Z` (RFC 3339, UTC, milliseconds).
std::string to_rfc3339(TimePoint time);

// Any RFC 3339 time with `Z` or an offset; fractions beyond milliseconds are cut. Nothing when it
// is not one.
std::optional<TimePoint> parse_rfc3339(std::string_view text);

// `90`, `90s`, `30m`, `2h`, `7d`, up to 10 years; nothing when it is not one.
std::optional<std::chrono::seconds> parse_duration(std::string_view text);

// `41 s`, `3 min`, `2 h 5 min`, `12 days`.
std::string human_duration(std::chrono::milliseconds duration);

}  // namespace sparkrun
