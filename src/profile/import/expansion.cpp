// SPDX-License-Identifier: MIT
#include "profile/import/expansion.hpp"

#include "profile/values.hpp"

#include <fmt/format.h>

namespace sparkrun::profile {
namespace {

constexpr std::string_view fallback_sign = ":-";

// Behind the mark that belongs to the one at `at`; fallbacks may hold marks of their own.
size_t end_of_mark(std::string_view text, size_t at) {
  size_t depth = 0;
  for (; at < text.size(); ++at) {
    if (text[at] == mark_open) ++depth;
    if (text[at] == mark_close && --depth == 0) return at + 1;
  }
  return text.size();
}

Expansion read_mark(std::string_view mark) {
  const std::string_view body = mark.substr(1, mark.size() - 2);
  const size_t sign = body.find(fallback_sign);
  // Only a variable's name can be followed by a fallback; `(echo :-)` has none.
  if (sign == std::string_view::npos || !is_variable_name(body.substr(0, sign))) {
    return {.name = std::string{body}};
  }
  return {.name = std::string{body.substr(0, sign)},
          .fallback = std::string{body.substr(sign + fallback_sign.size())}};
}

}  // namespace

std::string mark(const Expansion& expansion) {
  std::string body = expansion.name;
  if (expansion.fallback) body.append(fallback_sign).append(*expansion.fallback);
  return mark_open + body + mark_close;
}

bool has_expansion(std::string_view text) { return text.find(mark_open) != std::string_view::npos; }

std::optional<Expansion> whole_expansion(std::string_view text) {
  const bool is_whole = text.starts_with(mark_open) && end_of_mark(text, 0) == text.size();
  return is_whole ? std::optional{read_mark(text)} : std::nullopt;
}

std::string replace_expansions(std::string_view text, const Replacement& replace) {
  std::string result;
  while (true) {
    const size_t at = text.find(mark_open);
    result += text.substr(0, at);
    if (at == std::string_view::npos) return result;
    const size_t end = end_of_mark(text, at);
    result += replace(read_mark(text.substr(at, end - at)));
    text.remove_prefix(end);
  }
}

std::string as_written(std::string_view text) {
  return replace_expansions(text, [](const Expansion& expansion) {
    if (expansion.fallback) {
      return fmt::format("${{{}:-{}}}", expansion.name, as_written(*expansion.fallback));
    }
    return expansion.name.starts_with("id ") ? fmt::format("$({})", expansion.name)
                                             : "$" + expansion.name;
  });
}

}  // namespace sparkrun::profile
