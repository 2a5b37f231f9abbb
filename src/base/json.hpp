// SPDX-License-Identifier: MIT
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace sparkrun {

// Keys keep the order in which they were inserted, so output reads as it was written.
using Json = nlohmann::ordered_json;

// How deep JSON from outside may nest: nlohmann recurses, and a manifest needs five levels.
constexpr int json_depth_max = 64;

// How many members an object may have: each costs a look at all that came before.
constexpr size_t json_keys_max = 1000;

// Nothing when `text` is not JSON, is deeper than `json_depth_max`, has an object of more than
// `json_keys_max` members, or a duplicate key (which parsers disagree about, so two programs could
// read two different documents).
std::optional<Json> parse_json(std::string_view text);

// One line, no blanks. Bytes that are not UTF-8 become U+FFFD.
std::string to_json_line(const Json& json);
// Indented by two, with a final newline.
std::string to_json_text(const Json& json);

// Members that may be absent or of another type: never throw.
std::string string_or(const Json& object, std::string_view key, std::string_view fallback = "");
long long integer_or(const Json& object, std::string_view key, long long fallback);
bool boolean_or(const Json& object, std::string_view key, bool fallback);
// The member, or a null value when it is absent or `object` is not an object.
const Json& member(const Json& object, std::string_view key);

}  // namespace sparkrun
