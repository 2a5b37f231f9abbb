// SPDX-License-Identifier: MIT
#include "profile/values.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace sparkrun::profile {
namespace {

constexpr std::string_view digits = "0123456789";

}  // namespace

bool is_number(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  const auto [whole, fraction] = split_once(text, '.');
  return !whole.empty() && text.back() != '.' &&
         whole.find_first_not_of(digits) == std::string_view::npos &&
         fraction.find_first_not_of(digits) == std::string_view::npos;
}

bool is_variable_name(std::string_view text) {
  constexpr std::string_view allowed =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
  return !text.empty() && digits.find(text.front()) == std::string_view::npos &&
         text.find_first_not_of(allowed) == std::string_view::npos;
}

bool is_plain_name(std::string_view text) {
  return !text.empty() && std::ranges::none_of(text, [](char c) {
    return c == '=' || c == 0x7f || static_cast<unsigned char>(c) <= 0x20;
  });
}

bool is_volume_name(std::string_view source) {
  constexpr std::string_view allowed =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";
  return source.size() > 1 && source.find_first_not_of(allowed) == std::string_view::npos &&
         std::string_view{"_.-"}.find(source.front()) == std::string_view::npos;
}

bool is_size(std::string_view text) {
  const size_t end = text.find_first_not_of("0123456789.");
  const std::string_view amount = text.substr(0, end);
  std::string unit = to_lower(text.substr(amount.size()));
  if (unit.starts_with(' ')) unit.erase(0, 1);
  constexpr std::array units = std::to_array<std::string_view>({"", "b", "k", "m", "g", "t", "p"});
  if (unit.size() > 1 && unit.ends_with('b')) unit.pop_back();
  if (unit.size() > 1 && unit.ends_with('i')) unit.pop_back();
  return is_number(amount) && std::ranges::find(units, unit) != units.end();
}

}  // namespace sparkrun::profile
