// SPDX-License-Identifier: MIT
#include "run/shown_lints.hpp"

#include "support/test_system.hpp"

#include <gtest/gtest.h>

namespace sparkrun::run {
namespace {

using Strings = std::vector<std::string>;

TEST(ShownLints, AreNewOnceForEachProfileOfAProject) {
  const test::TestSystem world;
  const sys::Environment& environment = world.system.environment;
  Prepared prepared{.project = {.root = "/p"}};
  prepared.plan.profile.name = "a";
  prepared.plan.lints = {"one", "two"};

  EXPECT_EQ(take_new_lints(prepared, environment), (Strings{"one", "two"}));
  EXPECT_EQ(take_new_lints(prepared, environment), Strings{});

  prepared.plan.lints = {"two", "three"};
  EXPECT_EQ(take_new_lints(prepared, environment), Strings{"three"});

  prepared.plan.lints = {"one"};
  EXPECT_EQ(take_new_lints(prepared, environment), Strings{});  // though it had gone meanwhile

  prepared.plan.profile.name = "b";
  EXPECT_EQ(take_new_lints(prepared, environment), Strings{"one"});
}

TEST(ShownLints, AreShownAgainWhereNothingCanBeRemembered) {
  const test::TestSystem world;
  world.folder.write("state/sparkrun", "a file in the way");
  Prepared prepared;
  prepared.plan.lints = {"one"};

  EXPECT_EQ(take_new_lints(prepared, world.system.environment), Strings{"one"});
  EXPECT_EQ(take_new_lints(prepared, world.system.environment), Strings{"one"});
}

}  // namespace
}  // namespace sparkrun::run
