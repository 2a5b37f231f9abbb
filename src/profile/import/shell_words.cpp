// SPDX-License-Identifier: MIT
#include "profile/import/shell_words.hpp"

#include "base/text.hpp"
#include "profile/import/expansion.hpp"
#include "profile/values.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sparkrun::profile {
namespace {

// Of fallbacks in fallbacks; nobody writes more than two.
constexpr int depth_max = 8;

constexpr size_t produced_bytes_max = size_t{8} << 20;

constexpr std::string_view ends_of_word = " \t\n;&|<>()";

bool is_name_character(char c) { return is_variable_name(std::string{'_', c}); }

// Whether an unquoted word, up to its end, is a pattern or a list in braces.
bool is_pattern(std::string_view rest) {
  if (std::string_view{"*?[{"}.find(rest.front()) == std::string_view::npos) return false;
  constexpr size_t length_max = 1024;  // of what is looked at, for each such sign of a word
  rest = rest.substr(0, length_max);
  const std::string_view word = rest.substr(0, rest.find_first_of(" \t\n;&|<>\"'"));
  if (word.starts_with('*') || word.starts_with('?')) return true;
  if (word.starts_with('[')) return word.find(']') != std::string_view::npos;
  const std::string_view braces = rest.substr(0, rest.find_first_of(" \t\n"));
  const size_t close = braces.find('}');
  if (!braces.starts_with('{') || close == std::string_view::npos) return false;
  return braces.substr(0, close).find(',') != std::string_view::npos ||
         braces.substr(0, close).find("..") != std::string_view::npos;
}

// `HF_HOME=` and the like, as they are written, before a tilde: bash expands it there as well.
bool is_assignment_start(std::string_view text) {
  return text.ends_with('=') && is_variable_name(text.substr(0, text.size() - 1));
}

void append_utf8(std::string& text, unsigned long code) {
  const auto put = [&](unsigned long byte) { text += static_cast<char>(byte); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xc0 | code >> 6), put(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    put(0xe0 | code >> 12), put(0x80 | (code >> 6 & 0x3f)), put(0x80 | (code & 0x3f));
  } else {
    put(0xf0 | (code >> 18 & 0x07)), put(0x80 | (code >> 12 & 0x3f));
    put(0x80 | (code >> 6 & 0x3f)), put(0x80 | (code & 0x3f));
  }
}

}  // namespace

void ShellWords::fail_open(std::string_view sign) const {
  const std::string_view from = text_.substr(word_at_);
  refuse_word(from.substr(0, from.find('\n')), fmt::format("a {} is not closed", sign),
              "give the whole text");
}

// A backslash before the end of a line joins the next line. Blanks between the two make it
// something else for a shell, which nobody wants.
bool ShellWords::skip_continuation() {
  const size_t end = text_.find_first_not_of(" \t", at + 1);
  const bool ends_line = end == std::string_view::npos || text_[end] == '\n';
  if (!ends_line) return false;
  if (end == std::string_view::npos) {
    at = text_.size();
    return true;
  }
  if (end > at + 1 && notes.empty()) {
    const size_t line = 1 + static_cast<size_t>(std::ranges::count(text_.substr(0, at), '\n'));
    notes.push_back({true, fmt::format("line {}: blanks behind the `\\` at the end; a shell would "
                                       "end the command there, it was read on",
                                       line)});
  }
  at = end + 1;
  return true;
}

void ShellWords::skip_blanks() {
  while (!is_at_end()) {
    if (text_[at] == ' ' || text_[at] == '\t')
      ++at;
    else if (text_[at] != '\\' || !skip_continuation())
      return;
  }
}

std::vector<std::string> ShellWords::read_fields() {
  fields_.clear();
  read_word(Split::yes);
  end_field();
  return std::move(fields_);
}

std::string ShellWords::read_value() {
  read_word(Split::no);
  has_field_ = false;
  return std::exchange(field_, "");
}

void ShellWords::end_field() {
  if (has_field_) fields_.push_back(field_);
  field_.clear();
  has_field_ = false;
}

void ShellWords::read_word(Split split) {
  field_.clear();
  has_field_ = false;
  pattern_.clear();
  split_ = split;
  word_at_ = at;
  while (!is_at_end() && ends_of_word.find(text_[at]) == std::string_view::npos) {
    const char c = text_[at];
    if (c == '\'') {
      const size_t close = text_.find('\'', at + 1);
      if (close == std::string_view::npos) fail_open("quote");
      put(text_.substr(at + 1, close - at - 1));
      at = close + 1;
    } else if (c == '"') {
      read_double_quotes();
    } else if (c == '$') {
      read_dollar(false);
    } else if (c == '`') {
      read_backquotes();
    } else if (c != '\\') {
      read_unquoted(c);
    } else if (!skip_continuation()) {
      put(text_.substr(at + 1, 1));
      at += 2;
    }
  }
}

void ShellWords::read_unquoted(char c) {
  if (split_ == Split::yes && pattern_.empty() && is_pattern(rest())) {
    const std::string_view from = text_.substr(word_at_);
    pattern_ = from.substr(0, from.find_first_of(" \t\n"));
  }
  const std::string_view before = text_.substr(word_at_, at - word_at_);
  const bool can_be_home = c == '~' && (before.empty() || is_assignment_start(before));
  const std::string_view after = rest().substr(1);
  const bool ends = after.empty() || after.front() == '/' || after.front() == ':' ||
                    ends_of_word.find(after.front()) != std::string_view::npos;
  ++at;
  if (can_be_home && ends)
    put(mark({.name = "HOME"}));
  else
    put({&c, 1});
}

void ShellWords::read_double_quotes() {
  put("");
  for (++at; !is_at_end() && text_[at] != '"';) {
    if (text_[at] == '\\')
      read_escape_in_quotes();
    else if (text_[at] == '$')
      read_dollar(true);
    else if (text_[at] == '`')
      read_backquotes();
    else
      put(text_.substr(at++, 1));
  }
  if (is_at_end()) fail_open("quote");
  ++at;
}

// Only before these the backslash goes (POSIX, 2.2.3).
void ShellWords::read_escape_in_quotes() {
  const std::string_view next = text_.substr(at + 1, 1);
  at += 2;
  if (next == "\n") return;
  if (next.empty()) fail_open("quote");
  if (std::string_view{"$`\"\\"}.find(next) == std::string_view::npos) put("\\");
  put(next);
}

void ShellWords::read_dollar(bool is_quoted) {
  const std::string_view after = rest().substr(1);
  if (after.starts_with('\'') && !is_quoted) return read_ansi_quotes();
  if (after.starts_with('"') && !is_quoted) {
    ++at;
    return read_double_quotes();
  }
  if (after.starts_with('{')) return read_braces(is_quoted);
  if (after.starts_with('(')) return read_substitution();
  const size_t length =
      static_cast<size_t>(std::ranges::find_if_not(after, is_name_character) - after.begin());
  const std::string name{after.substr(0, length)};
  if (is_variable_name(name)) {
    at += 1 + length;
    return expand(name, "", "", is_quoted);
  }
  if (!after.empty() &&
      std::string_view{"0123456789@*#?$!-"}.find(after.front()) != std::string_view::npos) {
    at += 2;
    return put(mark({.name = std::string{after.front()}}));
  }
  ++at;
  put("$");
}

// $'...' with the escapes of C.
void ShellWords::read_ansi_quotes() {
  constexpr std::string_view letters = "abefnrtv\\'\"?E";
  constexpr std::string_view meanings = "\a\b\x1b\f\n\r\t\v\\'\"?\x1b";
  put("");
  for (at += 2; !is_at_end() && text_[at] != '\'';) {
    if (text_[at] != '\\' || at + 1 >= text_.size()) {
      put(text_.substr(at++, 1));
      continue;
    }
    const char letter = text_[at + 1];
    const size_t known = letters.find(letter);
    const bool is_octal = letter >= '0' && letter <= '7';
    const size_t digits_max = letter == 'x' ? 2 : letter == 'u' ? 4 : letter == 'U' ? 8 : 3;
    const std::string_view set = is_octal ? "01234567" : "0123456789abcdefABCDEF";
    const size_t from = at + (is_octal ? 1 : 2);
    const std::string_view window = text_.substr(std::min(from, text_.size()), digits_max);
    const std::string digits{window.substr(0, window.find_first_not_of(set))};
    const bool is_code = is_octal || letter == 'x' || letter == 'u' || letter == 'U';
    if (is_code && !digits.empty()) {
      const unsigned long code = std::stoul(digits, nullptr, is_octal ? 8 : 16);
      if (letter == 'u' || letter == 'U')
        append_utf8(field_, code);
      else
        field_ += static_cast<char>(code);
      at = from + digits.size();
    } else {
      put(known == std::string_view::npos ? text_.substr(at, 2) : meanings.substr(known, 1));
      at += 2;
    }
  }
  if (is_at_end()) fail_open("quote");
  ++at;
}

// The closing sign that belongs to the one opened before `from`, past quotes and inner pairs.
size_t ShellWords::find_end(size_t from, char open, char close) const {
  size_t depth = 1;
  for (size_t i = from; i < text_.size(); ++i) {
    const char c = text_[i];
    if (c == '\\') {
      ++i;
    } else if (c == '\'' || c == '"') {
      for (++i; i < text_.size() && text_[i] != c; ++i) i += text_[i] == '\\' && c == '"' ? 1 : 0;
    } else if (c == open && open != close) {
      ++depth;
    } else if (c == close && --depth == 0) {
      return i;
    }
  }
  fail_open(close == '`' ? "backquote" : "bracket");
}

void ShellWords::read_braces(bool is_quoted) {
  const size_t end = find_end(at + 2, '{', '}');
  const std::string_view body = text_.substr(at + 2, end - at - 2);
  at = end + 1;
  const size_t length =
      static_cast<size_t>(std::ranges::find_if_not(body, is_name_character) - body.begin());
  const std::string name{body.substr(0, length)};
  std::string_view operation = body.substr(length);
  const size_t operation_length = operation.starts_with(':') ? 2 : 1;
  const std::string_view rest = operation.substr(std::min(operation_length, operation.size()));
  operation = operation.substr(0, operation.size() - rest.size());
  const bool is_known = operation.empty() || operation == ":-" || operation == "-" ||
                        operation == ":=" || operation == "=" || operation == ":?" ||
                        operation == "?";
  if (!is_variable_name(name) || !is_known) return put(mark({.name = fmt::format("{{{}}}", body)}));
  expand(name, operation, rest, is_quoted);
}

void ShellWords::read_backquotes() {
  const size_t end = find_end(at + 1, '`', '`');
  const std::string_view body = text_.substr(at + 1, end - at - 1);
  at = end + 1;
  put_command(body);
}

void ShellWords::read_substitution() {
  const size_t end = find_end(at + 2, '(', ')');
  const std::string_view body = text_.substr(at + 2, end - at - 2);
  at = end + 1;
  put_command(body);
}

void ShellWords::put_command(std::string_view command) {
  const std::string_view plain = trim(command);
  if (plain == "pwd" || plain == "pwd -P") return put(mark({.name = "PWD"}));
  for (const std::string_view of : {"", " $USER", " ${USER}", " \"$USER\"", " \"${USER}\""}) {
    for (const std::string_view id : {"id -u", "id -g"}) {
      if (plain == std::string{id}.append(of)) return put(mark({.name = std::string{id}}));
    }
  }
  if (plain == "whoami" || plain == "id -un") return put(mark({.name = "USER"}));
  if (plain == "echo $HOME" || plain == "echo ~") return put(mark({.name = "HOME"}));
  put(mark({.name = fmt::format("({})", one_line(command))}));
}

// `$NAME`, or `${NAME:-rest}` with its operation.
void ShellWords::expand(const std::string& name, std::string_view operation, std::string_view rest,
                        bool is_quoted) {
  const auto found = variables_.find(name);
  const bool has_fallback = operation.ends_with('-') || operation.ends_with('=');
  const bool is_missing =
      found == variables_.end() || (found->second.empty() && operation.starts_with(':'));
  std::string value;
  if (!is_missing)
    value = found->second;
  else if (name == "HOME" || name == "PWD")
    value = mark({.name = name});
  else if (name == "UID")
    value = mark({.name = "id -u"});
  else if (found != variables_.end() && has_fallback)
    value = expand_text(rest);
  else
    value = mark(
        {.name = name, .fallback = has_fallback ? std::optional{expand_text(rest)} : std::nullopt});
  if (is_quoted || split_ == Split::no)
    put(value);
  else
    put_split(value);
}

// A fallback has quoting and expansions of its own.
std::string ShellWords::expand_text(std::string_view text) {
  if (depth_ == depth_max) return mark({.name = fmt::format("{{{}}}", one_line(text))});
  // As if it stood in double quotes, which is where it is in most lines; its own quotes go.
  std::string plain{text};
  if (plain.size() > 1 && (plain.front() == '"' || plain.front() == '\'') &&
      plain.back() == plain.front()) {
    plain = plain.substr(1, plain.size() - 2);
  }
  const std::string quoted = '"' + plain + '"';
  ShellWords inner{quoted, variables_};
  inner.depth_ = depth_ + 1;
  std::string value = plain == "~" || plain.starts_with("~/")
                          ? mark({.name = "HOME"}) + expand_text(plain.substr(1))
                          : inner.read_value();
  return value;
}

void ShellWords::put(std::string_view text) {
  // A=$B$B, B=$C$C, ...: a short text can stand for an endless one.
  produced_ += text.size();
  if (produced_ > produced_bytes_max) {
    refuse_word(text_.substr(word_at_, 40), "its variables stand for too much text",
                "write what they stand for");
  }
  field_ += text;
  has_field_ = true;
}

// Field splitting (POSIX, 2.6.5) with the usual IFS.
void ShellWords::put_split(std::string_view value) {
  size_t depth = 0;
  for (const char c : value) {
    depth += c == mark_open ? 1 : 0;
    depth -= c == mark_close ? 1 : 0;
    if (depth == 0 && (c == ' ' || c == '\t' || c == '\n'))
      end_field();
    else
      put({&c, 1});
  }
}

}  // namespace sparkrun::profile
