// SPDX-License-Identifier: MIT
#pragma once

#include "base/error.hpp"
#include "cli/arguments.hpp"
#include "cli/output.hpp"
#include "config/settings.hpp"
#include "sys/system.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace sparkrun::cli {

// What a command is run with.
struct Context {
  sys::System& system;
  config::Settings& settings;
  Output& output;
  std::optional<sys::fs::path> directory;  // -C
};

// One command: its options are a table, its work is a function. The function returns the exit code
// or throws Error; app.cpp is the one place that catches.
struct Command {
  std::string_view name;     // as typed: `lock`, `audit show`
  std::string_view summary;  // one line
  std::span<const Option> options;
  int (*run)(const Arguments&, Context&);
  std::string_view description;  // more, for --help and the man page; may be empty
  // Says how the command's own errors end it, where that is not the code of the error table: takes
  // what was understood of the line, gives the exit code.
  int (*refuse)(const Arguments&, const sys::System&, const Error&, Output&) = nullptr;
  // From the first word after the positionals on, everything belongs to the container.
  bool takes_command = false;
  // Flags of the container engine are options too (profile/options.hpp).
  bool takes_engine_flags = false;
  bool is_hidden = false;
};

// All commands, sorted by file name (generated).
std::span<const Command* const> commands();
// By the words of its name.
const Command* find_command(std::string_view name);

// The options that every command has.
std::span<const Option> global_options();

}  // namespace sparkrun::cli
