// SPDX-License-Identifier: MIT
#include "cli/arguments.hpp"

#include "base/error.hpp"
#include "cli/command.hpp"

#include <gtest/gtest.h>

#include <array>

namespace sparkrun::cli {
namespace {

using Words = std::vector<std::string>;

constexpr auto job_options = std::to_array<Option>({
    {"TARGET", "", Takes::value, "", "what to run"},
    {"--dry-run", "-n", Takes::nothing, "", "print only"},
    {"--env", "-e", Takes::value, "NAME", "a variable"},
    {"--tty", "", Takes::value, "WHEN", "a terminal", Values::any, "auto|always|never"},
});
constexpr Command job{
    .name = "job", .options = job_options, .takes_command = true, .takes_engine_flags = true};

constexpr auto plain_options = std::to_array<Option>({
    {"SHELL", "", Takes::value, "", "which shell", Values::any, "bash|zsh", true},
    {"FILE", "", Takes::values, "", "files"},
    {"--check", "", Takes::nothing, "", "look only"},
});
constexpr Command plain{.name = "plain", .options = plain_options};

Arguments parse(const Command& command, const Words& words) {
  Arguments arguments;
  parse_arguments(command, words, arguments);
  return arguments;
}

Error parse_error(const Command& command, const Words& words) {
  try {
    parse(command, words);
  } catch (const Error& error) {
    return error;
  }
  return Error{"bug", "no error"};
}

TEST(Arguments, UnderstandEveryWayToWriteAValue) {
  for (const Words& words :
       {Words{"--env", "A=1"}, {"--env=A=1"}, {"-e", "A=1"}, {"-eA=1"}, {"-e=A=1"}}) {
    EXPECT_EQ(parse(job, words).values("--env"), Words{"A=1"}) << words.front();
  }
}

TEST(Arguments, TakeEmptyAndDashedValues) {
  EXPECT_EQ(parse(job, {"--env="}).value("--env"), std::optional<std::string>{""});
  EXPECT_EQ(parse(job, {"--env", ""}).value("--env"), std::optional<std::string>{""});
  EXPECT_EQ(parse(job, {"--env", "--dry-run"}).value("--env"),
            std::optional<std::string>{"--dry-run"});
  EXPECT_FALSE(parse(job, {"--env", "--dry-run"}).has("--dry-run"));
}

TEST(Arguments, KeepEveryValueAndPreferTheLast) {
  const Arguments arguments = parse(job, {"-e", "A", "--env=B", "-e", "C"});

  EXPECT_EQ(arguments.values("--env"), (Words{"A", "B", "C"}));
  EXPECT_EQ(arguments.value("--env"), std::optional<std::string>{"C"});
  EXPECT_EQ(arguments.value_or("--tty", "auto"), "auto");
  EXPECT_TRUE(arguments.values("--tty").empty());
}

TEST(Arguments, JoinShortFlags) {
  const Arguments arguments = parse(job, {"-nqe", "A"});

  EXPECT_TRUE(arguments.has("--dry-run"));
  EXPECT_TRUE(arguments.has("--quiet"));
  EXPECT_EQ(arguments.values("--env"), Words{"A"});
}

TEST(Arguments, FindOptionsBehindAPositional) {
  const Arguments arguments = parse(plain, {"bash", "a", "--check", "b"});

  EXPECT_EQ(arguments.values("FILE"), (Words{"a", "b"}));
  EXPECT_TRUE(arguments.has("--check"));
}

TEST(Arguments, TakeWordsBehindTwoDashesAsTheyAre) {
  EXPECT_EQ(parse(plain, {"--", "bash", "--check", "-x"}).values("FILE"), (Words{"--check", "-x"}));
}

TEST(Arguments, LeaveTheContainersCommandUntouched) {
  const Words command = {"python", "train.py",  "--help", "--json", "-e",
                         "--",     "--dry-run", "",       "-C"};
  Words words = {"--dry-run", "pytorch", "--tty=never"};
  words.insert(words.end(), command.begin(), command.end());

  const Arguments arguments = parse(job, words);

  EXPECT_EQ(arguments.command(), command);
  EXPECT_EQ(arguments.value("TARGET"), std::optional<std::string>{"pytorch"});
  EXPECT_EQ(arguments.value("--tty"), std::optional<std::string>{"never"});
  EXPECT_FALSE(arguments.has("--help"));
  EXPECT_FALSE(arguments.has("--json"));
}

TEST(Arguments, BeginTheCommandAtTwoDashes) {
  const Arguments arguments = parse(job, {"pytorch", "--", "--version", "--", "x"});

  EXPECT_EQ(arguments.command(), (Words{"--version", "--", "x"}));
  EXPECT_FALSE(arguments.has("--version"));
}

TEST(Arguments, NeedNoTargetBeforeTwoDashes) {
  const Arguments arguments = parse(job, {"--", "python", "train.py"});

  EXPECT_EQ(arguments.command(), (Words{"python", "train.py"}));
  EXPECT_FALSE(arguments.value("TARGET"));
}

TEST(Arguments, CollectTheEnginesFlagsInOrder) {
  const Arguments arguments = parse(job, {"--shm-size=16g", "--ipc", "host", "--init", "--rm=false",
                                          "-u", "1000", "-w/work", "-m=4g", "pytorch"});

  std::vector<std::pair<std::string_view, Words>> flags;
  for (const auto& flag : arguments.engine_flags())
    flags.emplace_back(flag.option->flag, flag.values);
  EXPECT_EQ(flags, (std::vector<std::pair<std::string_view, Words>>{{"--shm-size", {"16g"}},
                                                                    {"--ipc", {"host"}},
                                                                    {"--init", {"true"}},
                                                                    {"--rm", {"false"}},
                                                                    {"--user", {"1000"}},
                                                                    {"--workdir", {"/work"}},
                                                                    {"--memory", {"4g"}}}));
  EXPECT_EQ(arguments.value("TARGET"), std::optional<std::string>{"pytorch"});
}

TEST(Arguments, RefuseWhatIsWrong) {
  struct Row {
    const Command& command;
    Words words;
    std::string_view id, message;
  };
  const Row rows[] = {
      {job,
       {"--dry-rnu"},
       "usage.unknown_option",
       "`sparkrun job` has no option `--dry-rnu` (did you mean `--dry-run`?)"},
      {job,
       {"--shm-siz=1g"},
       "usage.unknown_option",
       "`sparkrun job` has no option `--shm-siz` (did you mean `--shm-size`?)"},
      {job, {"-X"}, "usage.unknown_option", "`sparkrun job` has no option `-X`"},
      {job, {"-nX"}, "usage.unknown_option", "`sparkrun job` has no option `-X`"},
      {plain,
       {"bash", "--ipc=host"},
       "usage.unknown_option",
       "`sparkrun plain` has no option `--ipc`"},
      {plain, {"bash", "-\x1b"}, "usage.unknown_option", "`sparkrun plain` has no option `-?`"},
      {job, {"--env"}, "usage.missing_argument", "`--env` needs a value"},
      {job, {"-e"}, "usage.missing_argument", "`--env` needs a value"},
      {job, {"--ipc"}, "usage.missing_argument", "`--ipc` needs a value"},
      {job, {"--dry-run=yes"}, "usage.bad_value", "`--dry-run` takes no value"},
      {job, {"--init=maybe"}, "usage.bad_value", "`--init` is true or false, not `maybe`"},
      {job,
       {"--tty=allways"},
       "usage.bad_value",
       "`--tty` must be one of auto, always, never, not `allways` (did you mean `always`?)"},
      {plain, {"fish"}, "usage.bad_value", "`SHELL` must be one of bash, zsh, not `fish`"},
      {plain, {}, "usage.missing_argument", "`sparkrun plain` needs SHELL: which shell"},
      {plain, {"--check"}, "usage.missing_argument", "`sparkrun plain` needs SHELL: which shell"},
  };
  for (const Row& row : rows) {
    const Error error = parse_error(row.command, row.words);
    EXPECT_EQ(error.id(), row.id) << row.message;
    EXPECT_EQ(error.what(), row.message);
    EXPECT_EQ(error.hint(), "see `sparkrun " + std::string{row.command.name} + " --help`");
  }
}

TEST(Arguments, RefuseMorePositionalsThanThereAre) {
  static constexpr auto one = std::to_array<Option>({{"A", "", Takes::value, "", "only one"}});
  static constexpr Command single{.name = "single", .options = one};

  EXPECT_STREQ(parse_error(single, {"a", "b"}).what(), "unexpected argument `b`");
  EXPECT_STREQ(parse_error(single, {"--", "a", "b"}).what(), "unexpected argument `b`");
}

TEST(Arguments, NeedNothingWhenHelpIsAskedFor) {
  EXPECT_TRUE(parse(plain, {"--help"}).has("--help"));
}

TEST(Arguments, TakeASingleDashAsAWord) {
  EXPECT_EQ(parse(plain, {"bash", "-"}).values("FILE"), Words{"-"});
}

TEST(Arguments, HoldWhatWasUnderstoodBeforeAnError) {
  Arguments arguments;
  const Words words = {"--json", "--nonsense"};

  EXPECT_THROW(parse_arguments(plain, words, arguments), Error);

  EXPECT_TRUE(arguments.has("--json"));
}

}  // namespace
}  // namespace sparkrun::cli
