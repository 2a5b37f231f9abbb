// SPDX-License-Identifier: MIT
#include "cli/arguments.hpp"

#include "base/error.hpp"
#include "base/suggest.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sparkrun::cli {

// Why not CLI11: a container's command follows its options without a separator, as with docker, so
// every word has to be classified before a general parser could be given any; what is left then is
// this.
class ArgumentsParser {
 public:
  ArgumentsParser(const Command& command, std::span<const std::string> words, Arguments& into)
      : command_(command), words_(words), arguments_(into) {}

  void parse() {
    while (at_ < words_.size()) {
      const std::string& word = words_[at_++];
      if (word == "--") {
        take_rest();
      } else if (word.starts_with("--")) {
        take_long(word);
      } else if (word.size() > 1 && word.starts_with('-')) {
        take_short(word);
      } else if (!take_positional(word)) {
        if (!command_.takes_command)
          fail("usage.bad_value", fmt::format("unexpected argument `{}`", printable(word)));
        arguments_.command_.push_back(word);
        take_command();
      }
    }
    check_required();
  }

  // After a fault: what else the line says of how it wants to be answered (`--json`, `--dry-run`).
  void take_remaining_switches() {
    for (; at_ < words_.size() && words_[at_] != "--"; ++at_) {
      const Option* const option = find(words_[at_]);
      if (option != nullptr && option->takes == Takes::nothing) take(*option, std::nullopt);
    }
  }

 private:
  [[noreturn]] void fail(std::string_view id, const std::string& message) const {
    throw Error{id, message, {{"command", std::string{command_.name}}}};
  }

  const Option* find(std::string_view name) const {
    for (const auto table : {command_.options, global_options()}) {
      for (const Option& option : table) {
        if (!option.is_positional() && (option.name == name || option.short_name == name))
          return &option;
      }
    }
    return nullptr;
  }

  void take_rest() {
    if (command_.takes_command) return take_command();
    while (at_ < words_.size()) {
      const std::string& word = words_[at_++];
      if (!take_positional(word))
        fail("usage.bad_value", fmt::format("unexpected argument `{}`", printable(word)));
    }
  }

  void take_command() {
    arguments_.command_.insert(arguments_.command_.end(), words_.begin() + static_cast<long>(at_),
                               words_.end());
    at_ = words_.size();
  }

  void take_long(const std::string& word) {
    const auto [name, joined] = split_once(word, '=');
    const bool has_value = name.size() < word.size();
    if (const Option* const option = find(name)) {
      return take(*option, has_value ? std::optional{std::string{joined}} : std::nullopt);
    }
    if (take_engine_flag(name, has_value ? std::optional{std::string{joined}} : std::nullopt))
      return;
    fail("usage.unknown_option", fmt::format("`{}` has no option `{}`{}", label(), printable(name),
                                             did_you_mean(name, known_names())));
  }

  // `-C dir`, `-Cdir`, `-qv`.
  void take_short(const std::string& word) {
    for (size_t letter = 1; letter < word.size(); ++letter) {
      const std::string name = std::string{"-"} + word[letter];
      const std::string rest = word.substr(letter + 1);
      if (const Option* const option = find(name)) {
        if (option->takes == Takes::nothing) {
          take(*option, std::nullopt);
          continue;
        }
        return take(*option, joined_value(rest));
      }
      const profile::Option* const flag =
          command_.takes_engine_flags ? profile::find_by_flag(name) : nullptr;
      if (flag == nullptr || flag->key.empty()) {
        fail("usage.unknown_option",
             fmt::format("`{}` has no option `{}`{}", label(), printable(name),
                         flag != nullptr ? ": each run decides it (see --tty)" : ""));
      }
      if (flag->arity != profile::Arity::flag) {
        take_engine_flag(name, joined_value(rest));
        return;
      }
      take_engine_flag(name, std::nullopt);
    }
  }

  // What follows a short flag in its word: `-eA`, `-e=A`; nothing: the value is the next word.
  static std::optional<std::string> joined_value(const std::string& rest) {
    if (rest.empty()) return std::nullopt;
    return rest.starts_with('=') ? rest.substr(1) : rest;
  }

  void take(const Option& option, std::optional<std::string> joined) {
    std::vector<std::string>& values = arguments_.values_[std::string{option.name}];
    if (option.takes == Takes::nothing) {
      if (joined) fail("usage.bad_value", fmt::format("`{}` takes no value", option.name));
      return;
    }
    if (option.takes == Takes::maybe && !joined) return;
    const std::string value = joined ? *joined : next_value(option.name);
    check_choice(option, value);
    values.push_back(value);
  }

  bool take_engine_flag(std::string_view name, std::optional<std::string> joined) {
    if (!command_.takes_engine_flags) return false;
    const profile::Option* const flag = profile::find_by_flag(name);
    if (flag == nullptr || flag->key.empty()) return false;
    profile::OptionValue value{.option = flag, .values = {}};
    if (flag->arity == profile::Arity::flag) {
      if (joined && *joined != "true" && *joined != "false") {
        fail("usage.bad_value",
             fmt::format("`{}` is true or false, not `{}`", name, printable(*joined)));
      }
      value.values = {joined.value_or("true")};
    } else {
      value.values = {joined ? *joined : next_value(name)};
    }
    arguments_.engine_flags_.push_back(std::move(value));
    return true;
  }

  std::string next_value(std::string_view name) {
    if (at_ >= words_.size()) {
      fail("usage.missing_argument", fmt::format("`{}` needs a value", name));
    }
    return words_[at_++];
  }

  void check_choice(const Option& option, const std::string& value) const {
    if (option.choices.empty()) return;
    const auto choices = split(option.choices, '|');
    if (std::ranges::find(choices, value) != choices.end()) return;
    const std::vector<std::string> names{choices.begin(), choices.end()};
    fail("usage.bad_value",
         fmt::format("`{}` must be one of {}, not `{}`{}", option.name, fmt::join(choices, ", "),
                     printable(value), did_you_mean(value, names)));
  }

  bool take_positional(const std::string& word) {
    for (const Option& option : command_.options) {
      if (!option.is_positional()) continue;
      std::vector<std::string>& values = arguments_.values_[std::string{option.name}];
      if (option.takes == Takes::value && !values.empty()) continue;
      check_choice(option, word);
      values.push_back(word);
      return true;
    }
    return false;
  }

  void check_required() const {
    for (const Option& option : command_.options) {
      if (!option.is_positional() || !option.is_required) continue;
      if (arguments_.values(option.name).empty() && !arguments_.has("--help")) {
        fail("usage.missing_argument",
             fmt::format("`{}` needs {}: {}", label(), option.name, option.summary));
      }
    }
  }

  std::string label() const { return fmt::format("sparkrun {}", command_.name); }

  std::vector<std::string> known_names() const {
    std::vector<std::string> names;
    for (const auto table : {command_.options, global_options()}) {
      for (const Option& option : table) {
        if (!option.is_positional()) names.emplace_back(option.name);
      }
    }
    if (!command_.takes_engine_flags) return names;
    for (const profile::Option& flag : profile::options()) {
      if (!flag.key.empty()) names.emplace_back(flag.flag);
    }
    return names;
  }

  const Command& command_;
  std::span<const std::string> words_;
  size_t at_ = 0;
  Arguments& arguments_;
};

std::optional<std::string> Arguments::value(std::string_view name) const {
  const auto found = values_.find(name);
  if (found == values_.end() || found->second.empty()) return std::nullopt;
  return found->second.back();
}

std::string Arguments::value_or(std::string_view name, std::string_view fallback) const {
  return value(name).value_or(std::string{fallback});
}

std::vector<std::string> Arguments::values(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? std::vector<std::string>{} : found->second;
}

void parse_arguments(const Command& command, std::span<const std::string> words, Arguments& into) {
  ArgumentsParser parser{command, words, into};
  try {
    parser.parse();
  } catch (const Error&) {
    parser.take_remaining_switches();
    throw;
  }
}

}  // namespace sparkrun::cli
