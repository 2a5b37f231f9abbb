// SPDX-License-Identifier: MIT
#include "cli/completion.hpp"

#include "run/run_folder.hpp"
#include "support/test_system.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace sparkrun::cli {
namespace {

using Words = std::vector<std::string>;

class CompletionTest : public testing::Test {
 protected:
  Words complete(const Words& words) {
    Context context{world.system, settings, output, std::nullopt};
    return cli::complete(words, context);
  }
  void write_profile(const std::string& name) const {
    world.folder.write("work/profiles/" + name + ".toml", "version = 1\nimage = \"a:1\"\n");
  }

  test::TestSystem world;
  config::Settings settings;
  Output output{world.terminal};
};

bool has(const Words& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

TEST_F(CompletionTest, OffersCommandsOnce) {
  const Words all = complete({""});

  EXPECT_TRUE(std::ranges::is_sorted(all));
  EXPECT_EQ(std::ranges::count(all, "audit"), 1);
  EXPECT_TRUE(has(all, "run"));
  EXPECT_FALSE(has(all, "__complete"));
  EXPECT_EQ(complete({}), all);
  EXPECT_EQ(complete({"loc"}), Words{"lock"});
}

TEST_F(CompletionTest, OffersTheCommandsOfAGroup) {
  EXPECT_EQ(complete({"audit", ""}), (Words{"ls", "show", "verify"}));
  EXPECT_EQ(complete({"audit", "v"}), Words{"verify"});
  EXPECT_TRUE(complete({"nonsense", ""}).empty());
}

TEST_F(CompletionTest, OffersOptions) {
  EXPECT_EQ(complete({"run", "--dry"}), Words{"--dry-run"});
  EXPECT_EQ(complete({"run", "--shm"}), Words{"--shm-size"});
  EXPECT_TRUE(has(complete({"-"}), "--json"));
  EXPECT_FALSE(has(complete({"lock", "--"}), "--shm-size"));
}

TEST_F(CompletionTest, OffersRunsByWhatTheyAreCalled) {
  const std::string going = "01ARYZ6S410000000000000001", ended = "01ARYZ6S410000000000000002";
  run::RunFolder::make(world.system.environment,
                       {.run = going, .profile = "train", .container = "mine"});
  run::RunFolder::make(
      world.system.environment,
      {.run = ended, .profile = "serve", .container = "yours", .is_detached = true});
  world.folder.write("state/sparkrun/runs/" + ended + "/inspect.json", "{}");

  for (const std::string command : {"stop", "shell"})
    EXPECT_EQ(complete({command, ""}), (Words{going, "mine", "train"})) << command;
  for (const std::string command : {"logs", "wait"})
    EXPECT_EQ(complete({command, ""}), (Words{going, ended, "mine", "serve", "train", "yours"}));
}

TEST_F(CompletionTest, OffersTheChoicesOfAnOption) {
  EXPECT_EQ(complete({"run", "--tty", ""}), (Words{"always", "auto", "never"}));
  EXPECT_EQ(complete({"--color", "a"}), (Words{"always", "auto"}));
  EXPECT_EQ(complete({"completion", ""}), (Words{"bash", "fish", "zsh"}));
}

TEST_F(CompletionTest, OffersProfiles) {
  write_profile("mine");

  EXPECT_EQ(complete({"run", "mi"}), Words{"mine"});
  EXPECT_TRUE(has(complete({"lock", "mine", ""}), "pytorch"));
  EXPECT_TRUE(has(complete({"run", "--tty", "never", ""}), "mine"));
}

TEST_F(CompletionTest, LeavesTheContainersCommandToTheShell) {
  write_profile("mine");

  EXPECT_TRUE(complete({"run", "mine", ""}).empty());
  EXPECT_TRUE(complete({"run", "mine", "python", ""}).empty());
}

TEST_F(CompletionTest, OffersWhatCanBeExplained) {
  EXPECT_TRUE(has(complete({"explain", ""}), "trust"));
  EXPECT_EQ(complete({"explain", "lock.st"}), Words{"lock.stale"});
}

TEST_F(CompletionTest, OffersNothingWhereNothingIsRecorded) {
  EXPECT_TRUE(complete({"audit", "show", ""}).empty());
}

TEST_F(CompletionTest, NeverShowsAnError) {
  world.folder.write("state/sparkrun/audit/host/0/2026-07.jsonl", "\xff not json\n");
  write_profile("broken");
  world.folder.write("work/profiles/broken.toml", "version = 1\nimage = 7\n");

  EXPECT_NO_THROW(complete({"audit", "show", ""}));
  EXPECT_NO_THROW(complete({"run", ""}));
  EXPECT_EQ(world.terminal.err, "");
}

}  // namespace
}  // namespace sparkrun::cli
