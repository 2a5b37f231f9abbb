// SPDX-License-Identifier: MIT
#pragma once

#include "profile/options.hpp"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sparkrun::profile {

// One option of a command line, in any of the spellings that docker takes.
struct Word {
  const Option* option = nullptr;    // null: not in options()
  std::string flag;                  // as written, without its value: `-v`, `--volume`
  std::optional<std::string> value;  // none: a bare flag, or the value is missing
  size_t at = 0;                     // index of the word where it starts

  [[nodiscard]] bool lacks_value() const {
    return option && option->arity != Arity::flag && !value;
  }
  // Of a flag: whether it is set (`--privileged`, `--privileged=true`), not unset
  // (`--privileged=0`).
  [[nodiscard]] bool is_on() const;
};

struct ReadWords {
  std::vector<Word> options;
  size_t end =
      0;  // index of the first word that is no option (docker's IMAGE), or the number of words
};

// Reads words as docker's parser (pflag) does: `--flag value`, `--flag=value`, `-f value`,
// `-fvalue`,
// `-f=value`, clusters such as `-itv a:b`. Of a long flag that options() lacks nobody knows whether
// it takes the next word; it is read as taking none.
ReadWords read_words(std::span<const std::string> words);

}  // namespace sparkrun::profile
