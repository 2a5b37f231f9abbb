// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sparkrun {

// `key=value` at the first separator; the second part is empty when there is none.
std::pair<std::string_view, std::string_view> split_once(std::string_view text, char separator);
std::vector<std::string_view> split(std::string_view text, char separator);
// Whether `word` is one of the words of `list`, which blanks separate.
bool lists_word(std::string_view list, std::string_view word);
std::string join(const std::vector<std::string>& parts, std::string_view separator);
std::string_view trim(std::string_view text);
// ASCII only: header names, hex, platform names.
std::string to_lower(std::string_view text);
std::string to_upper(std::string_view text);
bool equal_ignoring_case(std::string_view a, std::string_view b);
bool is_lower_hex(std::string_view text, size_t length);
std::string to_hex(std::string_view bytes);

// The whole text as a decimal number without sign, or nothing (also when it does not fit).
std::optional<long long> parse_number(std::string_view text);

bool is_utf8(std::string_view text);

// One word of a POSIX shell command line: quoted only where a shell would change it.
std::string shell_quote(std::string_view word);
std::string shell_join(const std::vector<std::string>& words);

// `*` and `?` as in a shell, on the whole text; no classes, no escapes.
bool matches_glob(std::string_view pattern, std::string_view text);

// Control characters (and invalid UTF-8 bytes) become `?`, so that foreign text cannot drive a
// terminal. Newlines and tabs stay.
std::string printable(std::string_view text);

// The same on one line: what a registry names must not add a line to what we print.
std::string one_line(std::string_view text);

// `1.5 GiB`; binary units, one decimal from KiB on.
std::string human_bytes(long long bytes);

}  // namespace sparkrun
