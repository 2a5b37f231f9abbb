// SPDX-License-Identifier: MIT
#include "run/launch.hpp"

#include "base/error.hpp"
#include "support/fake_engine.hpp"
#include "support/test_system.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>

namespace sparkrun::run {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const std::string id(64, 'c');

class LaunchTest : public testing::Test {
 protected:
  LaunchTest() {
    engine.script = &script;
    plan.image.run_as = "reg.test/app@sha256:00";
  }

  // The engine has created the container.
  std::function<void()> create_container(const std::string& text = id) {
    return [this, text] { world.folder.write("cid", text); };
  }
  std::function<void()> pass(milliseconds time) {
    return [this, time] { world.clock.advance(time); };
  }
  std::optional<std::chrono::seconds> limit;
  std::vector<std::pair<std::string, std::string>> labels;

  Ended launch() {
    const plan::LaunchExtras extras{
        .name = "job", .cidfile = (world.folder / "cid").string(), .labels = labels};
    return run::launch(plan, extras, limit, engine, world.system,
                       [this](const std::string& container, const auto& state) {
                         bound.push_back(container + (state ? " " + state->image : " gone"));
                       });
  }
  [[nodiscard]] std::vector<std::string> stops() const {
    std::vector<std::string> found;
    std::ranges::copy_if(engine.calls, std::back_inserter(found),
                         [](const std::string& call) { return call.starts_with("stop"); });
    return found;
  }

  test::TestSystem world;
  test::FakeEngine engine;
  test::ForegroundScript script{&world.clock};
  plan::RunPlan plan;
  std::vector<std::string> bound;
};

TEST_F(LaunchTest, PassesTheContainersStatusThrough) {
  engine.containers[id] = {.id = id, .image = "sha256:ab"};
  script.first(create_container()).time_out().first(pass(seconds{90})).exit(3);

  const Ended ended = launch();

  EXPECT_EQ(ended.exit, 3);
  EXPECT_EQ(ended.container, id);
  EXPECT_EQ(ended.signal, "");
  EXPECT_EQ(ended.is_oom, std::optional{false});
  EXPECT_GE(ended.duration, seconds{90});
  EXPECT_TRUE(ended.warnings.empty());
  EXPECT_TRUE(stops().empty());
}

TEST_F(LaunchTest, StartsTheCommandLineOfThePlan) {
  script.exit(0);

  launch();

  const std::vector<std::string>& argv = engine.started.at(0);
  EXPECT_EQ(argv.at(0), "docker");
  EXPECT_EQ(argv.back(), "reg.test/app@sha256:00");
  EXPECT_EQ(std::ranges::count(argv, "--cidfile"), 1);
}

TEST_F(LaunchTest, ReportsTheContainerOnce) {
  engine.containers[id] = {.id = id, .image = "sha256:ab"};
  script.time_out().first(create_container()).time_out().time_out().signal(SIGINT, true).exit(0);

  launch();

  EXPECT_EQ(bound, std::vector<std::string>{id + " sha256:ab"});
}

TEST_F(LaunchTest, WaitsForTheWholeId) {
  engine.containers[id] = {.id = id, .image = "sha256:ab"};
  script.first(create_container(""))
      .time_out()
      .first(create_container(id.substr(1)))
      .time_out()
      .first(create_container())
      .exit(0);

  launch();

  EXPECT_EQ(bound, std::vector<std::string>{id + " sha256:ab"});
}

TEST_F(LaunchTest, ReportsAContainerThatWasGoneAtOnce) {
  script.first(create_container()).exit(0);

  const Ended ended = launch();

  EXPECT_EQ(bound, std::vector<std::string>{id + " gone"});
  EXPECT_EQ(ended.is_oom, std::nullopt);
}

TEST_F(LaunchTest, ReportsNothingWhenTheEngineRefused) {
  script.exit(125);

  const Ended ended = launch();

  EXPECT_EQ(ended.exit, 125);
  EXPECT_EQ(ended.container, "");
  EXPECT_TRUE(bound.empty());
}

TEST_F(LaunchTest, KnowsThatTheMemoryRanOut) {
  engine.containers[id] = {.id = id, .exit = 137, .is_oom_killed = true};
  script.first(create_container()).exit(137);

  EXPECT_EQ(launch().is_oom, std::optional{true});
}

TEST_F(LaunchTest, SleepsInShortStepsOnlyUntilTheContainerIsThere) {
  script.time_out().first(create_container()).time_out().exit(0);

  launch();

  ASSERT_EQ(script.waits.size(), 3U);
  EXPECT_LE(script.waits.at(0).value(), milliseconds{50});
  EXPECT_EQ(script.waits.at(2), std::nullopt);
}

TEST_F(LaunchTest, DoesNotForwardWhatWasTyped) {
  script.first(create_container()).time_out().signal(SIGINT, true).exit(130);

  const Ended ended = launch();

  EXPECT_TRUE(script.sent.empty());
  EXPECT_EQ(ended.signal, "SIGINT");
  EXPECT_EQ(ended.exit, 130);
}

TEST_F(LaunchTest, SetsNoLimitAfterOneInterrupt) {
  script.first(create_container()).time_out().signal(SIGINT, true).exit(130);

  launch();

  EXPECT_EQ(script.waits.back(), std::nullopt);
}

TEST_F(LaunchTest, ForwardsSigtermAndStopsTheContainerAfterTenSeconds) {
  script.first(create_container()).time_out().signal(SIGTERM).time_out().exit(137);

  const Ended ended = launch();

  EXPECT_EQ(script.sent, std::vector<int>{SIGTERM});
  EXPECT_EQ(script.waits.at(2), std::optional{milliseconds{10'000}});
  EXPECT_EQ(stops().front(), "stop " + id + " 0");
  EXPECT_EQ(ended.signal, "SIGTERM");
}

TEST_F(LaunchTest, DoesNotKillAJobThatEndsInTime) {
  script.first(create_container()).time_out().signal(SIGTERM).first(pass(seconds{4})).exit(0);

  const Ended ended = launch();

  EXPECT_EQ(ended.exit, 0);
  // The client may end before its container: what is left gets the whole grace.
  EXPECT_EQ(stops(), std::vector<std::string>{"stop " + id + " 10"});
}

TEST_F(LaunchTest, GivesLessThanACancelledJobHasAfterASecondSignal) {
  script.first(create_container())
      .time_out()
      .signal(SIGINT, true)
      .signal(SIGINT, true)
      .time_out()
      .exit(137);

  launch();

  EXPECT_EQ(script.waits.at(3), std::optional{milliseconds{1'500}});
  EXPECT_EQ(stops().front(), "stop " + id + " 0");
}

TEST_F(LaunchTest, TakesTheSameSignalTwiceAtOnceForOne) {
  script.first(create_container())
      .time_out()
      .signal(SIGTERM)
      .first(pass(milliseconds{20}))
      .signal(SIGTERM)
      .first(pass(seconds{4}))
      .exit(0);

  launch();

  EXPECT_EQ(script.sent, std::vector<int>{SIGTERM});
  EXPECT_EQ(stops(), std::vector<std::string>{"stop " + id + " 10"});
}

TEST_F(LaunchTest, PassesOnWhatDoesNotAskTheJobToEnd) {
  script.first(create_container())
      .time_out()
      .signal(SIGUSR1)
      .signal(SIGTSTP)
      .signal(SIGTSTP, true)
      .signal(SIGCONT)
      .exit(0);

  const Ended ended = launch();

  EXPECT_EQ(script.sent, (std::vector<int>{SIGUSR1, SIGTSTP, SIGCONT}));
  EXPECT_EQ(ended.signal, "");
  EXPECT_TRUE(stops().empty());
}

TEST_F(LaunchTest, StopsAJobWhoseClientEndedBeforeIt) {
  engine.containers[id] = {.id = id, .is_running = true};
  script.first(create_container()).exit(137, SIGKILL);

  const Ended ended = launch();

  EXPECT_EQ(stops(), std::vector<std::string>{"stop " + id + " 10"});
  EXPECT_EQ(ended.warnings,
            std::vector<std::string>{"docker's client ended before the job did: stopped it"});
}

TEST_F(LaunchTest, DoesNotKnowTheEndWhereTheEngineIsGone) {
  engine.failures.emplace("find_container", Error{"engine.unreachable", "no socket"});
  script.first(create_container()).exit(125);

  const Ended ended = launch();

  EXPECT_TRUE(ended.is_lost);
  EXPECT_TRUE(stops().empty());
  EXPECT_EQ(ended.warnings.size(), 1U);
}

TEST_F(LaunchTest, StopsAtOnceAtTheThirdSignal) {
  script.first(create_container())
      .time_out()
      .signal(SIGINT, true)
      .signal(SIGINT, true)
      .signal(SIGINT, true)
      .exit(137);

  launch();

  EXPECT_EQ(script.waits.size(), 5U);
  EXPECT_EQ(stops().front(), "stop " + id + " 0");
}

TEST_F(LaunchTest, StopsByNameBeforeTheIdIsKnown) {
  labels = {{"dev.sparkrun.run", "01A"}};
  engine.containers["job"] = {.is_running = true, .labels = {{"dev.sparkrun.run", "01A"}}};
  script.signal(SIGTERM).exit(143);

  launch();

  EXPECT_EQ(stops(), std::vector<std::string>{"stop job 10"});
}

TEST_F(LaunchTest, LeavesSomebodyElsesContainerOfThatNameAlone) {
  labels = {{"dev.sparkrun.run", "01A"}};
  engine.containers["job"] = {.is_running = true, .labels = {{"dev.sparkrun.run", "01B"}}};
  script.signal(SIGTERM).exit(125);

  launch();

  EXPECT_TRUE(stops().empty());
}

TEST_F(LaunchTest, AsksTheJobToEndWhenItsTimeIsOver) {
  limit = std::chrono::seconds{60};
  script.first(create_container()).time_out().time_out().exit(0);

  const Ended ended = launch();

  EXPECT_TRUE(ended.has_timed_out);
  EXPECT_EQ(ended.exit, 124);
  EXPECT_EQ(script.sent, std::vector<int>{SIGTERM});
}

TEST_F(LaunchTest, SaysThatTheContainerMayStillRun) {
  engine.failures.emplace("stop", Error{"engine.unreachable", "docker does not answer"});
  script.first(create_container()).signal(SIGTERM).exit(143);

  const Ended ended = launch();

  EXPECT_EQ(ended.exit, 143);
  EXPECT_EQ(ended.warnings,
            std::vector<std::string>{"the container may still run: docker does not answer"});
}

TEST_F(LaunchTest, SurvivesAnEngineThatDoesNotAnswer) {
  engine.failures.emplace("find_container", Error{"engine.failed", "500"});
  script.first(create_container()).exit(0);

  const Ended ended = launch();

  EXPECT_EQ(ended.exit, 0);
  EXPECT_EQ(ended.is_oom, std::nullopt);
  EXPECT_EQ(bound, std::vector<std::string>{id + " gone"});
}

}  // namespace
}  // namespace sparkrun::run
