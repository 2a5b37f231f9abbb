// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace sparkrun::profile {

// What a shell puts into a word and the text of the word does not say. `name` is a variable, `HOME`
// (also for `~`), `PWD` (also for `$(pwd)`), `id -u`, `id -g`, or anything else that stood behind
// the dollar: `(date)`, `{ARGS[@]}`.
struct Expansion {
  std::string name;
  std::optional<std::string> fallback = {};  // of `${NAME:-fallback}`
};

constexpr char mark_open = '\xfe';
constexpr char mark_close = '\xff';

// An expansion inside a word, between two bytes that no UTF-8 text holds, so that a word stays one
// string on its way through everything that takes a line apart.
std::string mark(const Expansion& expansion);
bool has_expansion(std::string_view text);

// The expansion that is the whole text.
std::optional<Expansion> whole_expansion(std::string_view text);

using Replacement = std::function<std::string(const Expansion&)>;
// Calls `replace` for each, from left to right; a fallback is given as it is, marks included.
std::string replace_expansions(std::string_view text, const Replacement& replace);

// For messages: `$NAME`, `$(date)`, `${NAME:-fallback}`.
std::string as_written(std::string_view text);

}  // namespace sparkrun::profile
