// SPDX-License-Identifier: MIT
#pragma once

#include "profile/import/facts.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace sparkrun::profile {

using ShellVariables = std::map<std::string, std::string, std::less<>>;

// Reads the words of shell text: quoting, expansions, fields.
class ShellWords {
 public:
  ShellWords(std::string_view text, const ShellVariables& variables)
      : text_(text), variables_(variables) {}

  size_t at = 0;  // where the next character is
  std::vector<ImportNote> notes;

  // Skips blanks and continued line ends.
  void skip_blanks();
  [[nodiscard]] bool is_at_end() const { return at >= text_.size(); }
  [[nodiscard]] bool is_at(std::string_view sign) const {
    return text_.substr(at).starts_with(sign);
  }
  [[nodiscard]] std::string_view rest() const { return text_.substr(at); }

  // The next word: usually one field; none where it is an empty variable without quotes, several
  // where a variable holds blanks.
  std::vector<std::string> read_fields();
  // The value of an assignment, which is never split.
  std::string read_value();
  // What a shell would expand in the last word and this reader does not: `*.py`, `{a,b}`.
  [[nodiscard]] const std::string& pattern() const { return pattern_; }

 private:
  enum class Split { no, yes };

  void read_word(Split split);
  void read_unquoted(char c);
  bool skip_continuation();
  void read_double_quotes();
  void read_escape_in_quotes();
  void read_dollar(bool is_quoted);
  void read_ansi_quotes();
  void read_braces(bool is_quoted);
  void read_backquotes();
  void read_substitution();
  void expand(const std::string& name, std::string_view operation, std::string_view rest,
              bool is_quoted);
  void put(std::string_view text);
  void put_split(std::string_view value);
  void end_field();
  void put_command(std::string_view command);
  [[nodiscard]] size_t find_end(size_t from, char open, char close) const;
  [[nodiscard]] std::string expand_text(std::string_view text);
  [[noreturn]] void fail_open(std::string_view sign) const;

  std::string_view text_;
  const ShellVariables& variables_;
  Split split_ = Split::yes;
  std::string field_;
  bool has_field_ = false;
  std::vector<std::string> fields_;
  std::string pattern_;
  size_t word_at_ = 0;
  int depth_ = 0;
  size_t produced_ = 0;
};

}  // namespace sparkrun::profile
