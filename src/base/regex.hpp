// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace sparkrun {

// A regular expression in Perl's words (PCRE2), for patterns and texts that nobody has checked:
// what either may cost is bounded.
class Regex {
 public:
  // Throws std::invalid_argument with what is wrong and where.
  explicit Regex(std::string_view pattern);

  // Whether it fits anywhere in `text`, which need not be UTF-8. A match that would cost too much
  // counts as none.
  [[nodiscard]] bool is_in(std::string_view text) const;

 private:
  std::shared_ptr<void> code_, scratch_, limits_;
};

}  // namespace sparkrun
