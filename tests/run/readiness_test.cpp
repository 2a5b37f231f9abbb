// SPDX-License-Identifier: MIT
#include "run/readiness.hpp"

#include "base/error.hpp"
#include "support/error_of.hpp"
#include "support/fake_engine.hpp"
#include "support/test_system.hpp"

#include <gtest/gtest.h>

namespace sparkrun::run {
namespace {

using Strings = std::vector<std::string>;
using std::chrono::seconds;

const std::string run_id = "01ARYZ6S410000000000000000";

class ReadinessTest : public testing::Test {
 protected:
  RunFolder make(profile::Readiness ready) {
    ready.timeout = seconds{60};
    return RunFolder::make(world.system.environment, {.run = run_id,
                                                      .profile = "app",
                                                      .container = "app-1",
                                                      .is_detached = true,
                                                      .removes = true,
                                                      .ready = ready});
  }
  void watch(const RunFolder& folder) { watch_readiness(folder, engine, recorder, world.system); }
  void answer(int status) { world.http.on("http://localhost:8000/health").reply(status); }

  test::TestSystem world;
  test::FakeEngine engine;
  config::Settings settings =
      config::Settings::load(world.system.environment, world.folder / "none");
  Recorder recorder{settings, world.system, "0123456789abcdef"};
};

TEST_F(ReadinessTest, AnAnswerOverHttpWillDo) {
  const RunFolder folder = make({.http = "http://localhost:8000/health"});
  answer(204);

  EXPECT_EQ(ready_state(folder), ReadyState::not_yet);
  watch(folder);

  EXPECT_EQ(ready_state(folder), ReadyState::ready);
  EXPECT_EQ(recorder.head().substr(0, 2), "1:");  // run.ready
}

TEST_F(ReadinessTest, WhoeverSaysNoIsLateInTheEnd) {
  const RunFolder folder = make({.http = "http://localhost:8000/health"});
  answer(503);

  watch(folder);

  EXPECT_EQ(ready_state(folder), ReadyState::late);
  EXPECT_EQ(recorder.head(), "");
}

TEST_F(ReadinessTest, ALineThatComesInPiecesWillDo) {
  const RunFolder folder = make({.log = "^server is ready$"});
  engine.pieces = {"loading 10%\rloading 90%\rser", "ver is re", "ady\nmore\n"};

  watch(folder);

  EXPECT_EQ(ready_state(folder), ReadyState::ready);
  EXPECT_EQ(engine.calls, Strings{"follow_output app-1"});
}

TEST_F(ReadinessTest, AnEndedJobIsNotWatchedAnyMore) {
  const RunFolder folder = make({.log = "never"});
  engine.pieces = {"failed\n"};
  sys::write_file_atomically(folder.description(), "{}");

  watch(folder);

  EXPECT_EQ(ready_state(folder), ReadyState::not_yet);
}

TEST_F(ReadinessTest, WithoutAWaiterTheEngineSaysThatItEnded) {
  make({.log = "never"});  // and let go
  engine.containers["app-1"] = {.is_running = false};
  const auto folder = RunFolder::find(world.system.environment, run_id);

  watch(*folder);

  EXPECT_EQ(engine.calls, (Strings{"follow_output app-1", "find_container app-1"}));
}

TEST_F(ReadinessTest, WaitingEndsWithTheMark) {
  const RunFolder folder = make({.log = "ready"});
  engine.pieces = {"ready\n"};
  watch(folder);

  EXPECT_NO_THROW(wait_until_ready(folder, engine, world.system));
}

TEST_F(ReadinessTest, WaitingFailsWithTheLastLinesOfAJobThatEnded) {
  const RunFolder folder = make({.log = "ready"});
  std::string output;
  for (int line = 1; line <= 30; ++line) output += "line " + std::to_string(line) + "\n";
  sys::write_file_atomically(folder.log(), output);
  sys::write_file_atomically(folder.description(), R"({"State":{"ExitCode":3}})");

  const Error error = test::error_of([&] { wait_until_ready(folder, engine, world.system); });

  EXPECT_EQ(error.id(), "run.ended_early");
  EXPECT_NE(std::string{error.what()}.find("exit 3"), std::string::npos);
  ASSERT_EQ(error.problems().size(), 20U);
  EXPECT_EQ(error.problems().front(), "line 11");
  EXPECT_EQ(error.problems().back(), "line 30");
}

TEST_F(ReadinessTest, WaitingEndsWithTheTime) {
  const RunFolder folder = make({.log = "ready"});  // and nobody watches

  const Error error = test::error_of([&] { wait_until_ready(folder, engine, world.system); });

  EXPECT_EQ(error.id(), "run.not_ready");
}

TEST_F(ReadinessTest, AProfileThatDoesNotAskIsNotWatched) {
  const RunFolder folder = RunFolder::make(world.system.environment, {.run = run_id});

  EXPECT_TRUE(start_watcher(folder, world.system));

  EXPECT_TRUE(world.processes.detached.empty());
  EXPECT_EQ(to_string(ready_state(folder)), "-");
}

TEST_F(ReadinessTest, OneThatAsksIs) {
  const RunFolder folder = make({.log = "ready"});

  EXPECT_TRUE(start_watcher(folder, world.system));

  ASSERT_EQ(world.processes.detached.size(), 1U);
  EXPECT_EQ(world.processes.detached[0].first, (Strings{"/proc/self/exe", "__ready", run_id}));
}

}  // namespace
}  // namespace sparkrun::run
