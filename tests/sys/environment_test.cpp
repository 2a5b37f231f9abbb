// SPDX-License-Identifier: MIT
#include "sys/environment.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <unistd.h>

namespace sparkrun::sys {
namespace {

Environment with(std::map<std::string, std::string, std::less<>> variables) {
  return {.variables = std::move(variables), .uid = getuid(), .gid = getgid()};
}

TEST(Environment, CountsAnEmptyVariableAsSet) {
  const Environment environment = with({{"CUDA_VISIBLE_DEVICES", ""}});

  EXPECT_EQ(environment.get("CUDA_VISIBLE_DEVICES"), std::optional<std::string>{""});
  EXPECT_EQ(environment.get("HF_TOKEN"), std::nullopt);
  EXPECT_EQ(environment.get_or("CUDA_VISIBLE_DEVICES", "0"), "");
  EXPECT_EQ(environment.get_or("HF_TOKEN", "none"), "none");
}

TEST(Environment, PutsItsFoldersBelowHomeByDefault) {
  const Environment environment = with({{"HOME", "/home/u"}});

  EXPECT_EQ(environment.config_directory(), "/home/u/.config/sparkrun");
  EXPECT_EQ(environment.state_directory(), "/home/u/.local/state/sparkrun");
  EXPECT_EQ(environment.cache_directory(), "/home/u/.cache/sparkrun");
}

TEST(Environment, FollowsTheXdgVariables) {
  const Environment environment = with({{"HOME", "/home/u"},
                                        {"XDG_CONFIG_HOME", "/c"},
                                        {"XDG_STATE_HOME", "/s"},
                                        {"XDG_CACHE_HOME", "/k"}});

  EXPECT_EQ(environment.config_directory(), "/c/sparkrun");
  EXPECT_EQ(environment.state_directory(), "/s/sparkrun");
  EXPECT_EQ(environment.cache_directory(), "/k/sparkrun");
}

TEST(Environment, IgnoresRelativeAndEmptyXdgVariables) {
  const Environment environment =
      with({{"HOME", "/home/u"}, {"XDG_CONFIG_HOME", "relative"}, {"XDG_STATE_HOME", ""}});

  EXPECT_EQ(environment.config_directory(), "/home/u/.config/sparkrun");
  EXPECT_EQ(environment.state_directory(), "/home/u/.local/state/sparkrun");
}

TEST(Environment, AsksThePasswordDatabaseWithoutHome) {
  EXPECT_TRUE(with({}).home().is_absolute());
  EXPECT_EQ(with({{"HOME", ""}}).home(), with({}).home());
}

TEST(Environment, OfThisProcessIsReadOnce) {
  setenv("SPARKRUN_TEST_VARIABLE", "a=b", 1);
  const Environment environment = Environment::of_this_process();
  unsetenv("SPARKRUN_TEST_VARIABLE");

  EXPECT_EQ(environment.get("SPARKRUN_TEST_VARIABLE"), std::optional<std::string>{"a=b"});
  EXPECT_EQ(environment.working_directory, fs::current_path());
  EXPECT_EQ(environment.uid, getuid());
}

}  // namespace
}  // namespace sparkrun::sys
