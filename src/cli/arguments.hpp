// SPDX-License-Identifier: MIT
#pragma once

#include "profile/options.hpp"

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sparkrun::cli {

struct Command;

// `maybe`: a value only where one is joined (`--name=value`).
enum class Takes { nothing, maybe, value, values };

// What completion offers for a value.
// `going`: runs that go on; `kept`: also those of which `logs` has something.
enum class Values {
  any,
  file,
  folder,
  profile,
  run,
  going,
  kept,
  check,
  explanation,
  command_words
};

// One row of a command's option table: an option (`--name`) or a positional (`NAME`).
struct Option {
  std::string_view name;        // `--update`, or `PROFILE` for a positional
  std::string_view short_name;  // `-n` or empty
  Takes takes;                  // of a positional: value (at most one) or values (any number)
  std::string_view value_name;  // `FILE`; of a positional: empty
  std::string_view summary;
  Values completes = Values::any;
  std::string_view choices = {};  // separated by `|`; empty: free
  bool is_required = false;       // positionals only

  [[nodiscard]] bool is_positional() const { return !name.starts_with('-'); }
  // Whether the word that follows it on the line is its value.
  [[nodiscard]] bool takes_next_word() const {
    return takes == Takes::value || takes == Takes::values;
  }
};

// A command line after it was understood.
class Arguments {
 public:
  [[nodiscard]] bool has(std::string_view name) const { return values_.contains(name); }
  // The last value that was given.
  [[nodiscard]] std::optional<std::string> value(std::string_view name) const;
  [[nodiscard]] std::string value_or(std::string_view name, std::string_view fallback) const;
  [[nodiscard]] std::vector<std::string> values(std::string_view name) const;
  // The container's own command.
  [[nodiscard]] const std::vector<std::string>& command() const { return command_; }
  // Flags of the engine, in the order of the line.
  [[nodiscard]] const std::vector<profile::OptionValue>& engine_flags() const {
    return engine_flags_;
  }

 private:
  friend class ArgumentsParser;
  std::map<std::string, std::vector<std::string>, std::less<>> values_;
  std::vector<std::string> command_;
  std::vector<profile::OptionValue> engine_flags_;
};

// Reads `words` (without the command's name) against the tables of `command` and the global
// options.
// `--name value`, `--name=value`, `-n value` and joined short flags are understood; `--` ends
// options. Throws `usage.*` with the nearest real option; `into` then holds what was understood
// before.
void parse_arguments(const Command& command, std::span<const std::string> words, Arguments& into);

}  // namespace sparkrun::cli
