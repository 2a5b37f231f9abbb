// SPDX-License-Identifier: MIT
#include "cli/app.hpp"

#include "base/json_value.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "support/test_system.hpp"

#include <gtest/gtest.h>

namespace sparkrun::cli {
namespace {

class AppTest : public testing::Test {
 protected:
  // The exit code; what was written is in `world.terminal`, and only of this call.
  int run(const std::vector<std::string>& words) {
    world.terminal.out.clear();
    world.terminal.err.clear();
    return cli::run(world.system, words);
  }
  [[nodiscard]] const std::string& out() const { return world.terminal.out; }
  [[nodiscard]] const std::string& err() const { return world.terminal.err; }

  test::TestSystem world;
};

TEST_F(AppTest, NeedsACommand) {
  EXPECT_EQ(run({}), 2);
  EXPECT_EQ(err(),
            "error: `sparkrun` needs a command\n"
            "  hint:  see `sparkrun --help`\n"
            "  code:  usage.missing_argument\n");
  EXPECT_EQ(out(), "");
}

TEST_F(AppTest, SuggestsTheCommandThatWasMeant) {
  EXPECT_EQ(run({"lokc", "vllm"}), 2);
  EXPECT_EQ(err(),
            "error: `sparkrun` has no command `lokc` (did you mean `lock`?)\n"
            "  hint:  `sparkrun --help` lists the commands\n"
            "  code:  usage.unknown_command\n");
}

TEST_F(AppTest, SuggestsTheInnerCommandThatWasMeant) {
  EXPECT_EQ(run({"audit", "lss"}), 2);
  EXPECT_TRUE(
      err().starts_with("error: `sparkrun audit` has no command `lss` (did you mean `ls`?)\n"))
      << err();
}

TEST_F(AppTest, ListsTheCommandsOfAGroup) {
  EXPECT_EQ(run({"audit"}), 2);
  EXPECT_EQ(err(),
            "error: `sparkrun audit` needs one of: ls, show, verify\n"
            "  hint:  see `sparkrun --help`\n"
            "  code:  usage.missing_argument\n");
}

TEST_F(AppTest, ExplainsAGroupOfCommands) {
  EXPECT_EQ(run({"audit", "--help"}), 0);
  EXPECT_TRUE(out().starts_with("Usage: sparkrun audit COMMAND [options]\n")) << out();
  EXPECT_NE(out().find("audit verify"), std::string::npos);
}

TEST_F(AppTest, DoesNotSuggestHiddenCommands) {
  run({"__complet"});

  EXPECT_EQ(err().find("did you mean"), std::string::npos) << err();
}

TEST_F(AppTest, SaysThatAGlobalOptionDoesNotExist) {
  EXPECT_EQ(run({"--jsno", "lock"}), 2);
  EXPECT_TRUE(err().starts_with("error: `sparkrun` has no option `--jsno`")) << err();
}

TEST_F(AppTest, PrintsItsVersion) {
  EXPECT_EQ(run({"--version"}), 0);
  EXPECT_EQ(out(), "sparkrun " SPARKRUN_VERSION "\n");
  EXPECT_EQ(err(), "");
}

TEST_F(AppTest, ExplainsItself) {
  for (const std::string word : {"--help", "-h"}) {
    EXPECT_EQ(run({word}), 0);
    EXPECT_NE(out().find("Usage: sparkrun COMMAND"), std::string::npos);
  }
}

TEST_F(AppTest, ExplainsEveryCommand) {
  for (const Command* command : commands()) {
    std::vector<std::string> words;
    for (const auto part : split(command->name, ' ')) words.emplace_back(part);
    words.emplace_back("--help");

    EXPECT_EQ(run(words), 0) << command->name;

    EXPECT_NE(out().find("Usage: sparkrun " + std::string{command->name}), std::string::npos)
        << command->name;
    EXPECT_EQ(err(), "") << command->name;
  }
}

TEST_F(AppTest, SaysNothingToTheHookOfAnotherSparkrun) {
  world.set("_SPARKRUN_COMPLETE", "bash_source");

  EXPECT_EQ(run({"nonsense", "--help"}), 0);

  EXPECT_EQ(out(), "");
  EXPECT_EQ(err(), "");
}

TEST_F(AppTest, TakesGlobalOptionsBeforeAndBehindTheCommand) {
  for (const auto& words :
       std::vector<std::vector<std::string>>{{"--json", "config", "show"},
                                             {"config", "show", "--json"},
                                             {"--color", "never", "--json", "config", "show"}}) {
    EXPECT_EQ(run(words), 0);
    EXPECT_TRUE(parse_json(out())) << out();
  }
}

TEST_F(AppTest, RefusesAFolderThatIsNotThere) {
  EXPECT_EQ(run({"-C", "absent", "paths"}), 2);
  EXPECT_EQ(err(),
            "error: -C: there is no folder `absent`\n"
            "  hint:  see `sparkrun paths --help`\n"
            "  code:  usage.bad_value\n");
}

TEST_F(AppTest, ActsInTheFolderThatIsNamed) {
  world.folder.write("work/inner/profiles/a.toml", "version = 1\nimage = \"a:1\"\n");

  EXPECT_EQ(run({"-C", "inner", "--json", "paths"}), 0);
  EXPECT_EQ(string_or(*parse_json(out()), "project"), (world.work() / "inner").string());
}

TEST_F(AppTest, ShowsErrorsAsJsonWhenAsked) {
  for (const auto& words : std::vector<std::vector<std::string>>{{"--json", "lokc"},
                                                                 {"lokc", "--json"},
                                                                 {"lock", "--json", "--nonsense"},
                                                                 {"--json", "audit"},
                                                                 {"explain", "--json", "zzz"}}) {
    EXPECT_EQ(run(words), 2);
    const auto json = parse_json(err());
    ASSERT_TRUE(json) << err();
    EXPECT_EQ(integer_or(member(*json, "error"), "exit_code", 0), 2);
    EXPECT_EQ(out(), "");
  }
}

TEST_F(AppTest, ColoursOnATerminalUnlessItIsUnwanted) {
  world.terminal.err_is_terminal = true;
  run({"lokc"});
  run({"explain", "zzz"});
  EXPECT_NE(err().find("\x1b[31m"), std::string::npos);

  run({"explain", "zzz", "--color=never"});
  EXPECT_EQ(err().find('\x1b'), std::string::npos);

  world.set("NO_COLOR", "1");
  run({"explain", "zzz"});
  EXPECT_EQ(err().find('\x1b'), std::string::npos);

  run({"explain", "zzz", "--color=always"});
  EXPECT_NE(err().find('\x1b'), std::string::npos);
}

TEST_F(AppTest, RefusesAnInvalidConfig) {
  world.set("SPARKRUN_AUDIT", "never");

  EXPECT_EQ(run({"config", "show"}), 4);
  EXPECT_NE(err().find("  code:  config.invalid\n"), std::string::npos);
}

TEST_F(AppTest, AddsAHundredToARefusalOfARealRun) {
  EXPECT_EQ(run({"run", "no-such-profile"}), 104);
  EXPECT_EQ(run({"run", "--dry-run", "no-such-profile"}), 4);
}

TEST_F(AppTest, WritesHowARunEnded) {
  const std::string file = (world.folder / "status").string();

  EXPECT_EQ(run({"run", "--status-file", file, "no-such-profile"}), 104);

  EXPECT_EQ(world.folder.read("status"),
            R"({"origin":"sparkrun","exit":104,"error":"profile.unknown","run":null,"retry":false})"
            "\n");
}

TEST_F(AppTest, DoesNotHideARefusalBehindItsStatusFile) {
  const std::string file = (world.folder / "absent/status").string();

  EXPECT_EQ(run({"run", "--status-file", file, "no-such-profile"}), 104);

  EXPECT_NE(err().find("warning: cannot write " + file), std::string::npos) << err();
  EXPECT_NE(err().find("  code:  profile.unknown\n"), std::string::npos) << err();
}

TEST_F(AppTest, ShowsSettingsWithTheirOrigin) {
  world.set("SPARKRUN_OFFLINE", "1");

  EXPECT_EQ(run({"--json", "config", "show"}), 0);

  const auto json = parse_json(out());
  EXPECT_EQ(to_json_line(member(*json, "offline")),
            R"({"value":true,"origin":"SPARKRUN_OFFLINE"})");
  EXPECT_EQ(to_json_line(member(*json, "locked")), R"({"value":null,"origin":"built in"})");
}

TEST_F(AppTest, ExplainsEveryErrorId) {
  for (const ErrorKind& kind : error_kinds()) {
    EXPECT_EQ(run({"explain", std::string{kind.id}}), 0) << kind.id;
    EXPECT_TRUE(out().starts_with(kind.id)) << kind.id;
    EXPECT_NE(out().find(kind.explanation), std::string::npos) << kind.id;
  }
}

TEST_F(AppTest, ListsWhatItCanExplain) {
  EXPECT_EQ(run({"explain"}), 0);
  EXPECT_NE(out().find("trust\n"), std::string::npos);
  EXPECT_NE(out().find("lock.stale\n"), std::string::npos);

  EXPECT_EQ(run({"explain", "lock.stael"}), 2);
  EXPECT_TRUE(
      err().starts_with("error: nothing is known of `lock.stael` (did you mean `lock.stale`?)\n"))
      << err();
  EXPECT_NE(err().find("explain.unknown"), std::string::npos);
}

TEST_F(AppTest, PrintsACompletionScriptForEachShell) {
  for (const std::string shell : {"bash", "zsh", "fish"}) {
    EXPECT_EQ(run({"completion", shell}), 0);
    EXPECT_NE(out().find("__complete"), std::string::npos) << shell;
  }
  EXPECT_EQ(run({"completion", "tcsh"}), 2);
}

TEST_F(AppTest, KeepsItsFilesBelowTheXdgFolders) {
  EXPECT_EQ(run({"paths", "--json"}), 0);

  const auto json = parse_json(out());
  EXPECT_TRUE(member(*json, "project").is_null());
  EXPECT_EQ(string_or(*json, "config"), (world.folder / "config/sparkrun/config.toml").string());
  EXPECT_EQ(string_or(*json, "runs"), (world.folder / "state/sparkrun/runs").string());
  EXPECT_EQ(string_or(*json, "pins"), (world.folder / "state/sparkrun/pins").string());
  EXPECT_EQ(string_or(*json, "cache"), (world.folder / "cache/sparkrun").string());
}

}  // namespace
}  // namespace sparkrun::cli
