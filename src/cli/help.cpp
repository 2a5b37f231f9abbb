// SPDX-License-Identifier: MIT
#include "cli/help.hpp"

#include "base/error.hpp"
#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sparkrun::cli {
namespace {

constexpr std::string_view about =
    "Reproducible, checked and traceable containers on NVIDIA DGX Spark: pins a moving tag to a\n"
    "digest, assembles the whole docker run line, checks the image and the host first, and "
    "records\n"
    "which digest produced which run.\n";

std::string option_label(const Option& option) {
  std::string label = option.short_name.empty() ? "    " : fmt::format("{}, ", option.short_name);
  label += option.name;
  if (option.takes == Takes::maybe) label += fmt::format("[={}]", option.value_name);
  if (option.takes_next_word()) label += fmt::format(" {}", option.value_name);
  return label;
}

std::string option_summary(const Option& option) {
  if (option.choices.empty()) return std::string{option.summary};
  std::string choices{option.choices};
  std::ranges::replace(choices, '|', ' ');
  return fmt::format("{} [{}]", option.summary, choices);
}

// Two columns; the second starts at 32, on the next line where the first is too long.
std::string two_columns(std::string_view left, std::string_view right) {
  constexpr size_t column = 30;
  if (left.size() <= column) return fmt::format("  {:<30}{}\n", left, right);
  return fmt::format("  {}\n{:32}{}\n", left, "", right);
}

std::string options_text(std::span<const Option> options) {
  std::string text;
  for (const Option& option : options) {
    if (!option.is_positional()) text += two_columns(option_label(option), option_summary(option));
  }
  return text;
}

std::string exit_codes_text() {
  std::string text;
  for (const ExitCodeMeaning& row : exit_code_meanings()) {
    text += fmt::format("  {:>3}  {}\n", static_cast<int>(row.code), row.meaning);
  }
  return text;
}

constexpr std::string_view run_codes =
    "A real `run` passes the container's own status through; sparkrun's own refusals are then 100 "
    "+\n"
    "code (111: blocked), and an interrupt stays 130.\n";

// Roff treats a leading dot or quote as a request and `-` as a hyphen.
std::string roff(std::string_view text) {
  std::string result;
  for (const std::string_view line : split(text, '\n')) {
    if (!result.empty()) result += '\n';
    if (line.starts_with('.') || line.starts_with('\'')) result += "\\&";
    for (const char c : line) {
      if (c == '\\')
        result += "\\e";
      else if (c == '-')
        result += "\\-";
      else
        result += c;
    }
  }
  return result;
}

}  // namespace

std::string usage_line(const Command& command) {
  std::string line = fmt::format("sparkrun {}", command.name);
  for (const Option& option : command.options) {
    if (!option.is_positional()) continue;
    const std::string_view many = option.takes == Takes::values ? "..." : "";
    line += option.is_required ? fmt::format(" {}{}", option.name, many)
                               : fmt::format(" [{}{}]", option.name, many);
  }
  line += " [options]";
  if (command.takes_command) line += " [COMMAND...]";
  return line;
}

std::string top_help() {
  std::string text = fmt::format("{}\nUsage: sparkrun COMMAND [options]\n\nCommands:\n", about);
  for (const Command* command : commands()) {
    if (!command->is_hidden) text += two_columns(command->name, command->summary);
  }
  text += "\nGlobal options:\n" + options_text(global_options());
  text += "\nExit codes:\n" + exit_codes_text() + fmt::format("\n{}", run_codes);
  text += "\n`sparkrun COMMAND --help` explains a command, `sparkrun explain ID` an error.\n";
  return text;
}

std::string group_help(std::string_view first_word) {
  std::string text = fmt::format("Usage: sparkrun {} COMMAND [options]\n\nCommands:\n", first_word);
  for (const Command* command : commands()) {
    const bool is_member = split_once(command->name, ' ').first == first_word;
    if (is_member && !command->is_hidden) text += two_columns(command->name, command->summary);
  }
  return text;
}

std::string command_help(const Command& command) {
  std::string text = fmt::format("{}\n\nUsage: {}\n", command.summary, usage_line(command));
  if (!command.description.empty()) text += fmt::format("\n{}\n", command.description);
  std::string arguments;
  for (const Option& option : command.options) {
    if (option.is_positional()) arguments += two_columns(option.name, option_summary(option));
  }
  if (!arguments.empty()) text += "\nArguments:\n" + arguments;
  const std::string options = options_text(command.options);
  if (!options.empty()) text += "\nOptions:\n" + options;
  if (command.takes_engine_flags) {
    text += "\nFlags of the engine, as in `docker run`:\n ";
    size_t width = 1;
    for (const profile::Option& flag : profile::options()) {
      if (flag.key.empty()) continue;
      if (width + flag.flag.size() + 1 > 96) text += "\n ", width = 1;
      text += fmt::format(" {}", flag.flag);
      width += flag.flag.size() + 1;
    }
    text += "\n";
  }
  return text + "\nGlobal options:\n" + options_text(global_options());
}

std::string man_page() {
  std::string text = ".\\\" Generated by `sparkrun __man` from the command tables; do not edit.\n";
  text += ".TH SPARKRUN 1 \"\" \"sparkrun\" \"User Commands\"\n.SH NAME\n";
  text += "sparkrun \\- reproducible, checked and traceable containers on NVIDIA DGX Spark\n";
  text += ".SH SYNOPSIS\n.B sparkrun\nCOMMAND [options]\n.SH DESCRIPTION\n" + roff(about);
  text += ".SH COMMANDS\n";
  for (const Command* command : commands()) {
    if (command->is_hidden) continue;
    text += fmt::format(".SS {}\n{}.\n", roff(usage_line(*command)), roff(command->summary));
    if (!command->description.empty()) text += fmt::format(".PP\n{}\n", roff(command->description));
    for (const Option& option : command->options) {
      const std::string label{option.is_positional() ? option.name : trim(option_label(option))};
      text += fmt::format(".TP\n.B {}\n{}\n", roff(label), roff(option_summary(option)));
    }
  }
  text += ".SH GLOBAL OPTIONS\n";
  for (const Option& option : global_options()) {
    text += fmt::format(".TP\n.B {}\n{}\n", roff(trim(option_label(option))),
                        roff(option_summary(option)));
  }
  text += ".SH EXIT STATUS\n";
  for (const ExitCodeMeaning& row : exit_code_meanings()) {
    text += fmt::format(".TP\n.B {}\n{}\n", static_cast<int>(row.code), roff(row.meaning));
  }
  text += fmt::format(".PP\n{}", roff(run_codes));
  text += ".SH ENVIRONMENT\n";
  for (const config::Setting& setting : config::settings()) {
    text += fmt::format(".TP\n.B SPARKRUN_{}\n{}\n", to_upper(setting.key), roff(setting.summary));
  }
  text += ".SH FILES\n.TP\n.I profiles/NAME.toml, lockfiles/NAME.lock\nin a project\n";
  text += ".TP\n.I $XDG_CONFIG_HOME/sparkrun/\nconfig.toml, profiles/ and lockfiles/ of the user\n";
  text += ".TP\n.I $XDG_STATE_HOME/sparkrun/\nthe ledger and remembered pins\n";
  text += ".SH SEE ALSO\n.BR docker\\-run (1)\n";
  return text;
}

}  // namespace sparkrun::cli
