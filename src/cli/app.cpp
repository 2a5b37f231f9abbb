// SPDX-License-Identifier: MIT
#include "cli/app.hpp"

#include "base/suggest.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/help.hpp"
#include "sys/files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace sparkrun::cli {
namespace {

constexpr auto global_table = std::to_array<Option>({
    {"--directory", "-C", Takes::value, "DIR", "act as if started in DIR", Values::folder},
    {"--json", "", Takes::nothing, "", "results (and errors) as JSON"},
    {"--quiet", "-q", Takes::nothing, "", "only results, warnings and errors"},
    {"--verbose", "", Takes::nothing, "", "say more of what is done"},
    {"--color", "", Takes::value, "WHEN", "auto (on a terminal), always or never", Values::any,
     "auto|always|never"},
    {"--help", "-h", Takes::nothing, "", "explain the command"},
    {"--version", "", Takes::nothing, "", "print the version"},
});

// Options before the command's name are moved behind it: `sparkrun --json audit ls`.
struct Split {
  const Command* command = nullptr;
  std::string group;               // a first word that only leads to commands: `audit`
  std::vector<std::string> words;  // of the command, global options first
};

const Option* find_global(std::string_view word) {
  const std::string_view name = split_once(word, '=').first;
  const auto found = std::ranges::find_if(global_table, [&](const Option& option) {
    return option.name == name || (!option.short_name.empty() &&
                                   word.starts_with(option.short_name) && !word.starts_with("--"));
  });
  return found == global_table.end() ? nullptr : &*found;
}

std::vector<std::string> command_words(std::string_view first) {
  std::vector<std::string> names;
  for (const Command* command : commands()) {
    if (command->is_hidden) continue;
    const auto [head, tail] = split_once(command->name, ' ');
    names.emplace_back(first.empty() ? head : head == first ? tail : "");
  }
  std::erase(names, "");
  std::ranges::sort(names);
  names.erase(std::ranges::unique(names).begin(), names.end());
  return names;
}

Split split_words(std::span<const std::string> words) {
  Split split;
  size_t at = 0;
  for (; at < words.size() && words[at].starts_with('-') && words[at] != "--"; ++at) {
    const Option* const option = find_global(words[at]);
    if (option == nullptr) {
      throw Error{"usage.unknown_option",
                  fmt::format("`sparkrun` has no option `{}`", printable(words[at]))};
    }
    split.words.push_back(words[at]);
    const bool is_joined = words[at].find('=') != std::string::npos ||
                           (words[at].size() > 2 && !words[at].starts_with("--"));
    if (option->takes_next_word() && !is_joined && at + 1 < words.size())
      split.words.push_back(words[++at]);
  }
  if (at == words.size()) return split;
  std::string name = words[at++];
  if (at < words.size() && find_command(name + " " + words[at]) != nullptr)
    name += " " + words[at++];
  split.command = find_command(name);
  if (split.command == nullptr) {
    const std::vector<std::string> inner = command_words(name);
    if (!inner.empty() && at < words.size() && words[at] != "--help" && words[at] != "-h") {
      throw Error{"usage.unknown_command",
                  fmt::format("`sparkrun {}` has no command `{}`{}", name, printable(words[at]),
                              did_you_mean(words[at], inner))};
    }
    if (!inner.empty() && at < words.size()) {
      split.group = name;
      split.words.emplace_back("--help");
      return split;
    }
    if (!inner.empty()) {
      throw Error{"usage.missing_argument",
                  fmt::format("`sparkrun {}` needs one of: {}", name, join(inner, ", ")),
                  {{"command", ""}}};
    }
    throw Error{"usage.unknown_command",
                fmt::format("`sparkrun` has no command `{}`{}", printable(name),
                            did_you_mean(name, command_words("")))};
  }
  split.words.insert(split.words.end(), words.begin() + static_cast<long>(at), words.end());
  return split;
}

void apply_globals(const Arguments& arguments, Output& output, const sys::System& system) {
  output.json = arguments.has("--json");
  output.quiet = arguments.has("--quiet");
  output.verbose = arguments.has("--verbose");
  const std::string color = arguments.value_or("--color", "auto");
  // https://no-color.org: set and not empty.
  const bool is_unwanted = !system.environment.get_or("NO_COLOR", "").empty() ||
                           system.environment.get_or("TERM", "") == "dumb";
  const auto decide = [&](bool is_terminal) {
    return color == "always" || (color == "auto" && is_terminal && !is_unwanted);
  };
  output.color_out = decide(system.terminal.out_is_terminal);
  output.color_err = decide(system.terminal.err_is_terminal);
}

// What was made of the line; filled step by step, so that an error is shown as far as the line was
// understood.
struct Line {
  const Command* command = nullptr;
  std::string group;
  Arguments arguments;
};

int execute(const Line& line, sys::System& system, Output& output) {
  const Arguments& arguments = line.arguments;
  if (arguments.has("--version")) {
    output.result(fmt::format("sparkrun {}\n", SPARKRUN_VERSION));
    return 0;
  }
  if (arguments.has("--help")) {
    output.result(line.command != nullptr ? command_help(*line.command)
                  : line.group.empty()    ? top_help()
                                          : group_help(line.group));
    return 0;
  }
  if (line.command == nullptr) {
    throw Error{"usage.missing_argument", "`sparkrun` needs a command", {{"command", ""}}};
  }
  config::Settings settings = config::Settings::load(system.environment);
  std::optional<sys::fs::path> directory;
  if (const auto given = arguments.value("--directory")) {
    directory = system.environment.working_directory / *given;
    if (!sys::is_folder(*directory)) {
      throw Error{"usage.bad_value",
                  fmt::format("-C: there is no folder `{}`", printable(*given)),
                  {{"command", std::string{line.command->name}}}};
    }
  }
  if (directory) system.environment.working_directory = *directory;
  Context context{system, settings, output, directory};
  return line.command->run(arguments, context);
}

// What is shown, recorded and pasted back has to be text.
void require_text(const std::vector<std::string>& words, const Command& command) {
  for (const std::string& word : words) {
    if (is_utf8(word)) continue;
    throw Error{"usage.bad_value",
                fmt::format("`{}` is not UTF-8", printable(word)),
                {{"command", std::string{command.name}}}};
  }
}

void understand(std::span<const std::string> words, Line& line, const sys::System& system,
                Output& output) {
  static constexpr Command top{.name = "", .summary = "", .options = {}, .run = nullptr};
  // A line that is not understood has no options yet; what it says of its output counts all the
  // same.
  output.json = std::ranges::find(words, "--json") != words.end();
  const Split split = split_words(words);
  line.command = split.command;
  line.group = split.group;
  try {
    parse_arguments(split.command != nullptr ? *split.command : top, split.words, line.arguments);
  } catch (const Error&) {
    apply_globals(line.arguments, output,
                  system);  // an error of the line itself is shown as the line asks
    throw;
  }
  apply_globals(line.arguments, output, system);
  if (split.command != nullptr && split.command->takes_command)
    require_text(split.words, *split.command);
}

// The one place where errors become text and codes.
int report(const Error& error, const Line& line, const sys::System& system, Output& output) {
  output.error(error);
  if (line.command != nullptr && line.command->refuse != nullptr) {
    return line.command->refuse(line.arguments, system, error, output);
  }
  return static_cast<int>(error.exit_code());
}

}  // namespace

std::span<const Option> global_options() { return global_table; }

const Command* find_command(std::string_view name) {
  const auto all = commands();
  const auto found = std::ranges::find_if(all, [&](const Command* c) { return c->name == name; });
  return found == all.end() ? nullptr : *found;
}

int run(sys::System& system, std::span<const std::string> words) {
  // The completion hook of an unrelated Python program of the same name: say nothing.
  if (system.environment.get("_SPARKRUN_COMPLETE")) return 0;
  Output output{system.terminal};
  Line line;
  try {
    understand(words, line, system, output);
    return execute(line, system, output);
  } catch (const Error& error) {
    return report(error, line, system, output);
  } catch (const std::exception& exception) {
    return report(Error{"bug", fmt::format("unexpected: {}", exception.what())}, line, system,
                  output);
  }
}

}  // namespace sparkrun::cli
