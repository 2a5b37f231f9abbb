// SPDX-License-Identifier: MIT
#include "base/version.hpp"

#include "base/text.hpp"

#include <algorithm>

namespace sparkrun {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Takes the run of digits, or of other characters, off the front.
std::string_view take_run(std::string_view& text) {
  size_t length = 1;
  while (length < text.size() && is_digit(text[length]) == is_digit(text[0])) ++length;
  const std::string_view run = text.substr(0, length);
  text.remove_prefix(length);
  return run;
}

std::strong_ordering compare_numbers(std::string_view a, std::string_view b) {
  a.remove_prefix(std::min(a.find_first_not_of('0'), a.size()));
  b.remove_prefix(std::min(b.find_first_not_of('0'), b.size()));
  if (a.size() != b.size()) return a.size() <=> b.size();
  return a <=> b;
}

}  // namespace

Version Version::parse(std::string_view text) { return Version{std::string{trim(text)}}; }

long long Version::number(size_t n) const {
  std::string_view rest = text_;
  while (!rest.empty()) {
    const std::string_view run = take_run(rest);
    if (is_digit(run[0]) && n-- == 0) return parse_number(run).value_or(0);
  }
  return 0;
}

std::strong_ordering Version::operator<=>(const Version& other) const {
  std::string_view a = text_, b = other.text_;
  while (!a.empty() && !b.empty()) {
    const bool numeric = is_digit(a[0]) && is_digit(b[0]);
    const std::string_view x = take_run(a), y = take_run(b);
    const std::strong_ordering order = numeric ? compare_numbers(x, y) : x <=> y;
    if (order != 0) return order;
  }
  return a.size() <=> b.size();
}

}  // namespace sparkrun
