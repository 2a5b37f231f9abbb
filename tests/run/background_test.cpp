// SPDX-License-Identifier: MIT
#include "run/background.hpp"

#include "base/error.hpp"
#include "base/json_value.hpp"
#include "base/text.hpp"
#include "run/running.hpp"
#include "support/error_of.hpp"
#include "support/fake_engine.hpp"
#include "support/test_system.hpp"

#include <gtest/gtest.h>

namespace sparkrun::run {
namespace {

using Strings = std::vector<std::string>;
using std::chrono::seconds;

const std::string run_id = "01ARYZ6S410000000000000000";
const std::string container_id(64, 'd');

class BackgroundTest : public testing::Test {
 protected:
  BackgroundTest() {
    prepared.id = run_id;
    prepared.project.root = world.work();
    prepared.plan.profile.name = "app";
    prepared.plan.image = {.run_as = "reg.test/app@sha256:1"};
    prepared.plan.container = {{profile::find_by_key("detach"), {}},
                               {profile::find_by_key("remove"), {}}};
    engine.containers["sparkrun-app-000000"] = state(true, 0);
  }

  static engine::ContainerState state(bool is_running, int exit) {
    return {.id = container_id,
            .image = "sha256:3",
            .is_running = is_running,
            .exit = exit,
            .name = "sparkrun-app-000000",
            .status = is_running ? "running" : "exited",
            .labels = {{"dev.sparkrun.run", run_id}, {"dev.sparkrun.profile", "app"}}};
  }

  bool launch() {
    return launch_in_background(
        prepared, {.image = {.id = "sha256:3"}, .run_as = "x", .matched_by = "config"}, nullptr,
        engine, nullptr, recorder, world.system);
  }

  // The records' events, with the exit of an end.
  Strings events() {
    Strings found;
    for (const auto& entry : fs::recursive_directory_iterator(world.folder / "state")) {
      if (entry.path().extension() != ".jsonl") continue;
      const std::string text = sys::read_file(entry.path()).value_or("");
      for (const std::string_view line : split(text, '\n')) {
        const auto json = parse_json(line);
        if (!json) continue;
        std::string event = string_or(*json, "event");
        if (event == "run.end") event += " " + std::to_string(integer_or(*json, "exit", -1));
        found.push_back(event);
      }
    }
    return found;
  }

  test::TestSystem world;
  test::FakeEngine engine;
  Prepared prepared;
  config::Settings settings =
      config::Settings::load(world.system.environment, world.folder / "none");
  Recorder recorder{settings, world.system, "0123456789abcdef"};
};

TEST_F(BackgroundTest, StartsWithoutRemovingAndLeavesAWaiter) {
  launch();

  const std::string line = shell_join(engine.started.at(0));
  EXPECT_TRUE(line.starts_with("docker run --detach ")) << line;
  EXPECT_EQ(line.find("--rm"), std::string::npos) << line;
  ASSERT_EQ(world.processes.detached.size(), 1U);
  EXPECT_EQ(world.processes.detached[0].first, (Strings{"/proc/self/exe", "__wait", run_id}));
  EXPECT_EQ(events(), (Strings{"run.start", "run.bound"}));
  const auto folder = RunFolder::find(world.system.environment, run_id);
  ASSERT_TRUE(folder);
  EXPECT_TRUE(folder->note().removes);
  EXPECT_EQ(world.processes.handed, 1U);  // the lock of the folder
}

TEST_F(BackgroundTest, SaysThatNoWaiterStarted) {
  world.processes.starts_detached = false;

  EXPECT_FALSE(launch());

  EXPECT_EQ(events(), (Strings{"run.start", "run.bound"}));
}

TEST_F(BackgroundTest, LeavesAnotherContainerOfTheSameNameAlone) {
  engine.containers["sparkrun-app-000000"].labels = {{"dev.sparkrun.run", "another"}};
  engine.failures.emplace("start_detached", Error{"engine.name_taken", "no"});

  EXPECT_EQ(test::error_of([&] { launch(); }).id(), "engine.name_taken");

  for (const std::string& call : engine.calls) EXPECT_FALSE(call.starts_with("remove")) << call;
}

TEST_F(BackgroundTest, LeavesNothingOfWhatTheEngineRefused) {
  engine.on_start_detached = [&] {
    world.folder.write("state/sparkrun/runs/" + run_id + "/cid", container_id);
  };
  engine.failures.emplace("start_detached", Error{"engine.runtime_missing", "no"});

  EXPECT_EQ(test::error_of([&] { launch(); }).id(), "engine.runtime_missing");

  EXPECT_EQ(engine.calls.back(), "remove " + container_id);
  EXPECT_FALSE(RunFolder::find(world.system.environment, run_id));
  EXPECT_TRUE(world.processes.detached.empty());
}

TEST_F(BackgroundTest, TheWaiterRecordsTheEndAndSavesWhatItRemoves) {
  launch();
  engine.output = "last words\n";
  engine.on_wait = [&](auto) {
    engine.containers["sparkrun-app-000000"] = state(false, 3);
    return true;
  };
  auto folder = RunFolder::find(world.system.environment, run_id);

  stay_with(*folder, engine, recorder, world.system);

  EXPECT_EQ(events().back(), "run.end 3");
  EXPECT_EQ(sys::read_file(folder->log()), "last words\n");
  EXPECT_TRUE(sys::path_exists(folder->description()));
  EXPECT_TRUE(folder->has_ended());
  EXPECT_FALSE(folder->has_container());
  EXPECT_EQ(engine.calls.back(), "remove sparkrun-app-000000");
}

TEST_F(BackgroundTest, TheWaiterWritesTheStatusFile) {
  prepared.status_file = (world.folder / "status.json").string();
  launch();
  EXPECT_FALSE(sys::path_exists(prepared.status_file));
  engine.containers["sparkrun-app-000000"] = state(false, 3);
  auto folder = RunFolder::find(world.system.environment, run_id);

  stay_with(*folder, engine, recorder, world.system);

  const auto status = parse_json(sys::read_file(prepared.status_file).value_or(""));
  EXPECT_EQ(integer_or(*status, "exit", -1), 3);
  EXPECT_EQ(string_or(*status, "origin"), "container");
  EXPECT_EQ(string_or(*status, "run"), run_id);
}

TEST_F(BackgroundTest, WhatCannotBeSavedIsNotRemoved) {
  launch();
  engine.containers["sparkrun-app-000000"] = state(false, 3);
  auto folder = RunFolder::find(world.system.environment, run_id);
  fs::create_directory(folder->log());  // nothing can be written there

  stay_with(*folder, engine, recorder, world.system);

  EXPECT_EQ(events().back(), "run.end 3");
  for (const std::string& call : engine.calls) EXPECT_FALSE(call.starts_with("remove")) << call;
}

TEST_F(BackgroundTest, AnotherWaiterKnowsWhatTheOneBeforeSaw) {
  launch();
  engine.containers["sparkrun-app-000000"].started = "2026-08-01T10:00:00Z";
  engine.on_wait = [&](auto) -> bool { throw Error{"interrupted", "the host goes down"}; };
  auto folder = RunFolder::find(world.system.environment, run_id);
  EXPECT_EQ(test::error_of([&] { stay_with(*folder, engine, recorder, world.system); }).id(),
            "interrupted");
  folder.reset();

  engine.containers["sparkrun-app-000000"].started = "2026-08-01T11:00:00Z";
  engine.on_wait = [&](auto) {
    engine.containers["sparkrun-app-000000"].is_running = false;
    return true;
  };
  auto again = RunFolder::find(world.system.environment, run_id);
  stay_with(*again, engine, recorder, world.system);

  EXPECT_EQ(events(), (Strings{"run.start", "run.bound", "run.restart", "run.end 0"}));
}

TEST_F(BackgroundTest, AJobWithoutALimitIsNeverStopped) {
  launch();
  int waits = 0;
  engine.on_wait = [&](auto) {  // a question may end after weeks; the job goes on
    if (++waits == 3) engine.containers["sparkrun-app-000000"] = state(false, 0);
    return false;
  };
  auto folder = RunFolder::find(world.system.environment, run_id);

  stay_with(*folder, engine, recorder, world.system);

  EXPECT_EQ(events().back(), "run.end 0");
  for (const std::string& call : engine.calls) EXPECT_FALSE(call.starts_with("stop")) << call;
}

TEST_F(BackgroundTest, WhatCouldNotBeSavedIsRemovedOnceItIs) {
  launch();
  engine.containers["sparkrun-app-000000"] = state(false, 3);
  engine.output = "last words\n";
  auto folder = RunFolder::find(world.system.environment, run_id);
  engine.failures.emplace("last_output", Error{"engine.unreachable", "it is being restarted"});
  stay_with(*folder, engine, recorder, world.system);
  EXPECT_EQ(events().back(), "run.end 3");
  EXPECT_TRUE(folder->has_ended());
  for (const std::string& call : engine.calls) EXPECT_FALSE(call.starts_with("remove")) << call;

  engine.failures.clear();
  remove_ended(*folder, engine);

  EXPECT_EQ(engine.calls.back(), "remove sparkrun-app-000000");
  EXPECT_EQ(sys::read_file(folder->log()), "last words\n");
}

TEST_F(BackgroundTest, AnEngineThatIsRestartedAtTheEndIsAskedAgain) {
  launch();
  engine.containers["sparkrun-app-000000"] = state(false, 3);
  int asked = 0;
  engine.on_description = [&] {
    if (++asked < 3) throw Error{"engine.unreachable", "it is being restarted"};
  };
  auto folder = RunFolder::find(world.system.environment, run_id);

  stay_with(*folder, engine, recorder, world.system);

  EXPECT_EQ(events(), (Strings{"run.start", "run.bound", "run.end 3"}));
  EXPECT_TRUE(folder->has_ended());
}

TEST_F(BackgroundTest, TheWaiterSeesThatTheEngineStartedTheJobAgain) {
  launch();
  engine.containers["sparkrun-app-000000"].started = "2026-08-01T10:00:00Z";
  int waits = 0;
  engine.on_wait = [&](auto) {
    engine.containers["sparkrun-app-000000"].started = "2026-08-01T11:00:00Z";
    if (++waits == 2) engine.containers["sparkrun-app-000000"].is_running = false;
    return true;
  };
  auto folder = RunFolder::find(world.system.environment, run_id);

  stay_with(*folder, engine, recorder, world.system);

  EXPECT_EQ(events(), (Strings{"run.start", "run.bound", "run.restart", "run.end 0"}));
}

TEST_F(BackgroundTest, TheWaiterOutlivesARestartOfTheEngine) {
  launch();
  int waits = 0;
  engine.on_wait = [&](auto) {
    if (++waits < 3) throw Error{"engine.unreachable", "it is being restarted"};
    engine.containers["sparkrun-app-000000"] = state(false, 0);
    return true;
  };
  auto folder = RunFolder::find(world.system.environment, run_id);

  stay_with(*folder, engine, recorder, world.system);

  EXPECT_EQ(events().back(), "run.end 0");
}

TEST_F(BackgroundTest, TheWaiterStopsAJobWhoseTimeIsOver) {
  prepared.limit = seconds{60};
  launch();
  world.clock.advance(seconds{20});  // the time counts from the launch
  engine.on_wait = [&](std::optional<std::chrono::milliseconds> timeout) {
    EXPECT_EQ(timeout, seconds{40});
    engine.containers["sparkrun-app-000000"] = state(false, 143);
    return false;
  };
  auto folder = RunFolder::find(world.system.environment, run_id);

  stay_with(*folder, engine, recorder, world.system);

  EXPECT_EQ(events().back(), "run.end 124");
  EXPECT_NE(std::ranges::find(engine.calls, "stop sparkrun-app-000000 10"), engine.calls.end());
}

TEST_F(BackgroundTest, WhatNeverRanHasNoEnd) {
  launch();
  engine.containers["sparkrun-app-000000"] = {.id = container_id, .status = "created"};

  const auto folder = RunFolder::find(world.system.environment, run_id);

  EXPECT_FALSE(close_from_engine(*folder, engine, recorder, world.system));
  EXPECT_EQ(engine.calls.back(), "remove " + container_id);
  EXPECT_EQ(events(), (Strings{"run.start", "run.bound"}));
}

TEST_F(BackgroundTest, OfAContainerThatSomebodyRemovedNobodyKnowsTheEnd) {
  launch();
  engine.containers.clear();
  auto folder = RunFolder::find(world.system.environment, run_id);

  stay_with(*folder, engine, recorder, world.system);

  EXPECT_EQ(events(), (Strings{"run.start", "run.bound"}));
}

TEST(RunFolder, TakesTheLockOverFromWhoeverHeldIt) {
  const test::TestSystem world;
  const sys::Environment& environment = world.system.environment;
  auto own = std::optional{RunFolder::make(environment, {.run = run_id})};
  auto next = RunFolder::find(environment, run_id);
  EXPECT_FALSE(next->try_hold());

  next->take_over(STDERR_FILENO);  // of something else
  EXPECT_EQ(next->lock_fd(), -1);
  next->take_over(dup(own->lock_fd()));
  own.reset();

  EXPECT_FALSE(RunFolder::find(environment, run_id)->try_hold());
  next.reset();
  EXPECT_TRUE(RunFolder::find(environment, run_id)->try_hold());
}

TEST(RunFolder, ShowsWhetherSomebodyStaysWithTheRun) {
  const test::TestSystem world;
  const sys::Environment& environment = world.system.environment;
  {
    const RunFolder own = RunFolder::make(environment, {.run = run_id, .profile = "app"});
    EXPECT_TRUE(own.has_holder());
    EXPECT_TRUE(RunFolder::find(environment, run_id)->has_holder());
  }
  EXPECT_FALSE(RunFolder::find(environment, run_id)->has_holder());
  EXPECT_EQ(run_folders(environment).size(), 1U);

  RunFolder::find(environment, run_id)->remove();
  EXPECT_TRUE(run_folders(environment).empty());
  EXPECT_FALSE(RunFolder::find(environment, "../../etc"));
}

GoingRun going(const std::string& run, const std::string& profile, const std::string& name,
               bool is_running = true) {
  return {.run = run,
          .profile = profile,
          .digest = "",
          .container = {.is_running = is_running, .name = name},
          .folder = std::nullopt};
}

TEST(FindGoing, TakesIdPrefixAgeProfileOrName) {
  Running running;
  running.runs.push_back(going("01C0000000000000000000000C", "train", "c"));
  running.runs.push_back(going("01B0000000000000000000000B", "serve", "b"));
  running.runs.push_back(going("01A0000000000000000000000A", "train", "a", false));
  const auto id = [&](const std::string& text, bool includes_ended = false) {
    const GoingRun* const found = find_going(running, text, includes_ended);
    return found ? found->container.name : "";
  };

  EXPECT_EQ(id("01C0000000000000000000000C"), "c");
  EXPECT_EQ(id("01b0"), "b");
  EXPECT_EQ(id("01b"), "");  // too short for an id
  EXPECT_EQ(id("^1"), "c");
  EXPECT_EQ(id("^2"), "b");
  EXPECT_EQ(id("^3"), "");
  EXPECT_EQ(id("train"), "c");
  EXPECT_EQ(id("a"), "");
  EXPECT_EQ(id("a", true), "a");
  const Error error = test::error_of([&] { find_going(running, "", false); });
  EXPECT_EQ(error.id(), "usage.which_run");
  EXPECT_EQ(error.problems().size(), 2U);

  running.runs.pop_back();
  running.runs.pop_back();
  EXPECT_EQ(id(""), "c");
}

}  // namespace
}  // namespace sparkrun::run
