// SPDX-License-Identifier: MIT
#include "base/json_value.hpp"

#include <climits>

#include <set>
#include <vector>

namespace sparkrun {
namespace {

bool is_too_deep(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (in_string) {
      if (c == '\\')
        ++at;
      else if (c == '"')
        in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      if (++depth > json_depth_max) return true;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return false;
}

}  // namespace

std::optional<Json> parse_json(std::string_view text) {
  if (is_too_deep(text)) return std::nullopt;
  std::vector<std::set<std::string>> keys;
  bool has_duplicate = false, has_too_many = false;
  const auto watch = [&](int, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key) {
      has_duplicate |= !keys.back().insert(parsed.get<std::string>()).second;
      has_too_many |= keys.back().size() > json_keys_max;
    }
    // A member that is not wanted is not stored: the object finds its keys by looking at each.
    return !has_too_many;
  };
  Json json = Json::parse(text, watch, /*allow_exceptions=*/false);
  if (json.is_discarded() || has_duplicate || has_too_many) return std::nullopt;
  return json;
}

std::string to_json_line(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string to_json_text(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

const Json& member(const Json& object, std::string_view key) {
  static const Json null;
  if (!object.is_object()) return null;
  const auto found = object.find(std::string{key});
  return found == object.end() ? null : *found;
}

std::string string_or(const Json& object, std::string_view key, std::string_view fallback) {
  const Json& value = member(object, key);
  return value.is_string() ? value.get<std::string>() : std::string{fallback};
}

long long integer_or(const Json& object, std::string_view key, long long fallback) {
  const Json& value = member(object, key);
  const bool is_too_large =
      value.is_number_unsigned() && value.get<unsigned long long>() > LLONG_MAX;
  return value.is_number_integer() && !is_too_large ? value.get<long long>() : fallback;
}

bool boolean_or(const Json& object, std::string_view key, bool fallback) {
  const Json& value = member(object, key);
  return value.is_boolean() ? value.get<bool>() : fallback;
}

}  // namespace sparkrun

template class nlohmann::basic_json<nlohmann::ordered_map>;
