// SPDX-License-Identifier: MIT
#include "profile/import/facts.hpp"

#include "base/error.hpp"
#include "base/secret.hpp"
#include "base/text.hpp"
#include "profile/import/expansion.hpp"

#include <fmt/format.h>

namespace sparkrun::profile {

std::string shown(std::string_view word) {
  constexpr size_t length_max = 120;
  std::string text = one_line(redact(as_written(word)));
  if (text.size() <= length_max) return text;
  text.resize(length_max);
  while (!is_utf8(text)) text.pop_back();
  return text + "...";
}

void refuse_word(std::string_view word, std::string_view why, std::string_view advice) {
  const std::string text = shown(word);
  throw Error{"import.inexpressible",
              fmt::format("`{}` cannot be imported: {}", text, why),
              {{"word", text}, {"advice", std::string{advice}}}};
}

}  // namespace sparkrun::profile
