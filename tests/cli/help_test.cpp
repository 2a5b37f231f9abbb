// SPDX-License-Identifier: MIT
#include "cli/help.hpp"

#include "base/text.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace sparkrun::cli {
namespace {

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

TEST(CommandTable, SummarisesEveryCommandInOneLine) {
  for (const Command* command : commands()) {
    EXPECT_FALSE(command->summary.empty()) << command->name;
    EXPECT_EQ(command->summary.find('\n'), std::string_view::npos) << command->name;
    EXPECT_FALSE(command->summary.ends_with('.')) << command->name;
    EXPECT_NE(command->run, nullptr) << command->name;
    EXPECT_EQ(find_command(command->name), command);
  }
}

TEST(CommandTable, HidesWhatBeginsWithUnderscores) {
  for (const Command* command : commands())
    EXPECT_EQ(command->is_hidden, command->name.starts_with("__")) << command->name;
}

TEST(CommandTable, DescribesEveryOption) {
  for (const Command* command : commands()) {
    for (const Option& option : command->options) {
      EXPECT_FALSE(option.summary.empty()) << command->name << " " << option.name;
      const bool has_value_name = !option.value_name.empty();
      EXPECT_EQ(has_value_name, !option.is_positional() && option.takes != Takes::nothing)
          << command->name << " " << option.name;
      EXPECT_TRUE(option.short_name.empty() || option.short_name.size() == 2)
          << command->name << " " << option.name;
      for (const Option& global : global_options())
        EXPECT_NE(option.name, global.name) << command->name;
    }
  }
}

TEST(CommandHelp, MentionsEachOptionOfEveryCommand) {
  for (const Command* command : commands()) {
    const std::string text = command_help(*command);
    EXPECT_TRUE(contains(text, command->summary)) << command->name;
    EXPECT_TRUE(contains(text, "Usage: sparkrun " + std::string{command->name})) << command->name;
    for (const Option& option : command->options) {
      EXPECT_TRUE(contains(text, option.name)) << command->name << " " << option.name;
      EXPECT_TRUE(contains(text, option.summary)) << command->name << " " << option.name;
    }
    for (const Option& option : global_options())
      EXPECT_TRUE(contains(text, option.name)) << command->name;
  }
}

TEST(CommandHelp, FitsATerminal) {
  for (const Command* command : commands()) {
    const std::string text = command_help(*command);
    for (const std::string_view line : split(text, '\n')) EXPECT_LE(line.size(), 120U) << line;
  }
}

TEST(CommandHelp, ListsTheEnginesFlagsWhereTheyAreTaken) {
  EXPECT_TRUE(contains(command_help(*find_command("run")), "--shm-size"));
  EXPECT_FALSE(contains(command_help(*find_command("lock")), "--shm-size"));
}

TEST(UsageLine, ShowsWhatIsNeeded) {
  EXPECT_EQ(usage_line(*find_command("run")), "sparkrun run [TARGET] [options] [COMMAND...]");
  EXPECT_EQ(usage_line(*find_command("completion")), "sparkrun completion SHELL [options]");
  EXPECT_EQ(usage_line(*find_command("lock")), "sparkrun lock [PROFILE...] [options]");
}

TEST(TopHelp, ListsVisibleCommandsAndExitCodes) {
  const std::string text = top_help();

  for (const Command* command : commands()) {
    EXPECT_EQ(contains(text, "\n  " + std::string{command->name} + " "), !command->is_hidden)
        << command->name;
  }
  for (const ExitCodeMeaning& row : exit_code_meanings())
    EXPECT_TRUE(contains(text, row.meaning)) << row.meaning;
  EXPECT_TRUE(contains(text, "\n  130  interrupted\n"));
}

TEST(ManPage, DocumentsEveryVisibleCommandAndVariable) {
  const std::string text = man_page();

  EXPECT_TRUE(text.starts_with(".\\\" "));
  for (const Command* command : commands()) {
    std::string heading = ".SS sparkrun " + std::string{command->name};
    EXPECT_EQ(contains(text, heading), !command->is_hidden) << command->name;
  }
  EXPECT_TRUE(contains(text, ".B SPARKRUN_LOCKED\n"));
  EXPECT_TRUE(contains(text, ".B \\-C, \\-\\-directory DIR\n"));
}

TEST(ManPage, StartsNoLineWithAnAccidentalRequest) {
  constexpr std::string_view requests[] = {".\\\"", ".TH", ".SH", ".SS", ".TP",
                                           ".PP",   ".B ", ".I ", ".BR"};
  const std::string text = man_page();
  for (const std::string_view line : split(text, '\n')) {
    if (!line.starts_with('.') && !line.starts_with('\'')) continue;
    EXPECT_TRUE(std::ranges::any_of(requests, [&](std::string_view request) {
      return line.starts_with(request);
    })) << line;
  }
}

}  // namespace
}  // namespace sparkrun::cli
