// SPDX-License-Identifier: MIT
#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace sparkrun {
namespace {

constexpr std::string_view hex_digits = "0123456789abcdef";

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

bool is_shell_safe(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view{"_-./:@%+,="}.find(c) != std::string_view::npos;
}

// Length of the UTF-8 sequence that starts at `at`, or 0 where the bytes are not UTF-8 (RFC 3629).
size_t utf8_length(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(at);
  const size_t length = first < 0x80   ? 1
                        : first < 0xc2 ? 0
                        : first < 0xe0 ? 2
                        : first < 0xf0 ? 3
                        : first < 0xf5 ? 4
                                       : 0;
  if (length == 0 || at + length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xc0) != 0x80) return 0;
  }
  const bool overlong =
      (first == 0xe0 && byte(at + 1) < 0xa0) || (first == 0xf0 && byte(at + 1) < 0x90);
  const bool surrogate = first == 0xed && byte(at + 1) >= 0xa0;
  const bool too_high = first == 0xf4 && byte(at + 1) >= 0x90;
  return overlong || surrogate || too_high ? 0 : length;
}

// The bytes of a control character at the start of the text that does more than to end a line or a
// column: C0 but for tab and newline, DEL, and C1 in UTF-8; 0 when there is none.
size_t control_length(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  if (first == 0x7f || (first < 0x20 && first != '\t' && first != '\n')) return 1;
  const bool is_c1 = first == 0xc2 && text.size() > 1 && static_cast<unsigned char>(text[1]) < 0xa0;
  return is_c1 ? 2 : 0;
}

}  // namespace

std::pair<std::string_view, std::string_view> split_once(std::string_view text, char separator) {
  const size_t at = text.find(separator);
  if (at == std::string_view::npos) return {text, {}};
  return {text.substr(0, at), text.substr(at + 1)};
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (size_t at = text.find(separator); at != std::string_view::npos; at = text.find(separator)) {
    parts.push_back(text.substr(0, at));
    text.remove_prefix(at + 1);
  }
  parts.push_back(text);
  return parts;
}

bool lists_word(std::string_view list, std::string_view word) {
  return !word.empty() && std::ranges::count(split(list, ' '), word) > 0;
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  return fmt::format("{}", fmt::join(parts, separator));
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view blank = " \t\r\n";
  const size_t first = text.find_first_not_of(blank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blank) - first + 1);
}

std::string to_lower(std::string_view text) {
  std::string result{text};
  std::ranges::transform(result, result.begin(), lower);
  return result;
}

std::string to_upper(std::string_view text) {
  std::string result{text};
  std::ranges::transform(result, result.begin(), upper);
  return result;
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) { return lower(x) == lower(y); });
}

bool is_lower_hex(std::string_view text, size_t length) {
  return text.size() == length && text.find_first_not_of(hex_digits) == std::string_view::npos;
}

std::string to_hex(std::string_view bytes) {
  std::string hex;
  hex.reserve(bytes.size() * 2);
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    hex += hex_digits[byte >> 4];
    hex += hex_digits[byte & 15];
  }
  return hex;
}

std::optional<long long> parse_number(std::string_view text) {
  long long number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, number);
  if (text.empty() || text.front() == '-' || failure != std::errc{} || stop != end)
    return std::nullopt;
  return number;
}

bool is_utf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const size_t length = utf8_length(text, at);
    if (length == 0) return false;
    at += length;
  }
  return true;
}

std::string shell_quote(std::string_view word) {
  // zsh expands `=ls`, with MAGIC_EQUAL_SUBST also behind another `=`; `~` is not in the safe set.
  const bool is_zsh_safe = !word.starts_with('=') && word.find("==") == std::string_view::npos;
  if (!word.empty() && is_zsh_safe && std::ranges::all_of(word, is_shell_safe)) {
    return std::string{word};
  }
  std::string quoted = "'";
  for (size_t at = 0; at < word.size(); ++at) {
    const size_t control = control_length(word.substr(at));
    if (control > 0) {
      // As bytes they would drive the terminal that the line is read on.
      quoted += R"('"$(printf ')";
      for (const char byte : word.substr(at, control))
        quoted += fmt::format("\\{:03o}", static_cast<unsigned char>(byte));
      quoted += "')\"'";
      at += control - 1;
    } else if (word[at] == '\'') {
      quoted += "'\\''";
    } else {
      quoted += word[at];
    }
  }
  return quoted + "'";
}

std::string shell_join(const std::vector<std::string>& words) {
  std::vector<std::string> quoted;
  for (const std::string& word : words) quoted.push_back(shell_quote(word));
  return join(quoted, " ");
}

bool matches_glob(std::string_view pattern, std::string_view text) {
  size_t p = 0, t = 0, star = std::string_view::npos, mark = 0;
  while (t < text.size()) {
    if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t]) && pattern[p] != '*') {
      ++p, ++t;
    } else if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      mark = t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++mark;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

std::string printable(std::string_view text) {
  std::string clean;
  for (size_t at = 0; at < text.size();) {
    const size_t length = utf8_length(text, at);
    const auto byte = static_cast<unsigned char>(text[at]);
    const bool is_c1 =
        length == 2 && byte == 0xc2 && static_cast<unsigned char>(text[at + 1]) < 0xa0;
    const bool is_control = (byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7f || is_c1;
    if (length == 0 || is_control)
      clean += '?';
    else
      clean += text.substr(at, length);
    at += std::max<size_t>(length, 1);
  }
  return clean;
}

std::string one_line(std::string_view text) {
  std::string line = printable(text);
  std::ranges::replace_if(
      line, [](char c) { return c == '\n' || c == '\t'; }, ' ');
  return line;
}

std::string human_bytes(long long bytes) {
  constexpr std::array units = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < units.size()) value /= 1024, ++unit;
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, units.at(unit));
}

}  // namespace sparkrun
