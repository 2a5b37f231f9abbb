// SPDX-License-Identifier: MIT
#include "run/check.hpp"

#include "plan/plan_fixture.hpp"
#include "support/error_of.hpp"
#include "support/fake_engine.hpp"
#include "support/test_system.hpp"

#include <gtest/gtest.h>

namespace sparkrun::run {
namespace {

// A probe that gives no facts, of a job that is given HF_TOKEN (`t` on plan_fixture's host), values
// of files, and nothing on its command line.
class CheckTest : public testing::Test {
 protected:
  CheckTest() {
    const auto value = world.folder.write("value", "of a file\nin two lines\n").string();
    const auto env =
        world.folder.write("job.env", "# none\nA=of an env file\nFROM_HOST\n").string();
    world.set("HF_TOKEN", "of the host");
    world.set("FROM_HOST", "through a file");
    world.set("BY_NAME", "by its name");
    prepared.plan = plan::make_plan(
        plan::made_up_profile("env_from_host = ['HF_TOKEN']\n[env_from_file]\nB = '" + value +
                              "'\n[container]\nenv_file = ['" + env +
                              "']\nextra_args = ['-e', 'BY_NAME', '-e', 'C=on the line']"),
        plan::made_up_image, {}, {}, facts());
  }

  static plan::PlanFacts facts() {
    plan::PlanFacts facts = plan::made_up_facts();
    facts.path_exists = [](const fs::path&) { return true; };
    return facts;
  }

  std::string skipped_because(int exit, const std::string& err) {
    engine.captured = {.err = err, .exit = exit};
    return check(prepared, {}, engine, world.system, {"G9"}).results.at(0).second.message;
  }

  test::TestSystem world;
  test::FakeEngine engine;
  Prepared prepared{.id = "01M8PMTJJ20NCYXE577W2N5MRZ"};
};

TEST_F(CheckTest, QuotesTheEngineAndNotTheImage) {
  EXPECT_EQ(skipped_because(3, "anything\n"), "the probe gave no facts (exit 3)");
  EXPECT_EQ(skipped_because(0, "Error: x\n"), "the probe gave no facts (exit 0)");
  EXPECT_EQ(skipped_because(127, "noise\nError: no sh\n"),
            "the probe gave no facts (exit 127): Error: no sh");
  EXPECT_EQ(skipped_because(125, "no such thing\n"),
            "the probe gave no facts (exit 125): no such thing");
}

TEST_F(CheckTest, QuotesNoValueThatTheImageWasGiven) {
  for (const char* const value : {"of the host", "of a file", "in two lines", "of an env file",
                                  "through a file", "by its name"}) {
    for (const std::string prefix : {"docker: ", "Error: "}) {
      EXPECT_EQ(skipped_because(126, prefix + value + ".\n"),
                "the probe gave no facts (exit 126): " + prefix + "[redacted].");
    }
    EXPECT_EQ(skipped_because(125, value), "the probe gave no facts (exit 125): [redacted]");
  }
  EXPECT_EQ(skipped_because(125, "of a file\nin two lines\n"),
            "the probe gave no facts (exit 125): [redacted]\n[redacted]");
  EXPECT_EQ(skipped_because(125, "on the line"), "the probe gave no facts (exit 125): on the line");
}

TEST_F(CheckTest, RefusesWithNoValueThatTheImageWasGiven) {
  engine.captured = {.err = "docker: port is already allocated, of the host\n", .exit = 125};

  const Error error = test::error_of([&] { check(prepared, {}, engine, world.system); });

  EXPECT_EQ(error.id(), "engine.port_taken");
  EXPECT_EQ(error.problems(), std::vector<std::string>{"its own words: docker: port is already "
                                                       "allocated, [redacted]"});
}

}  // namespace
}  // namespace sparkrun::run
