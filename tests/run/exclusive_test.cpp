// SPDX-License-Identifier: MIT
#include "run/exclusive.hpp"

#include "base/error.hpp"
#include "support/error_of.hpp"
#include "support/fake_engine.hpp"
#include "support/test_system.hpp"

#include <gtest/gtest.h>

namespace sparkrun::run {
namespace {

using Strings = std::vector<std::string>;
using std::chrono::minutes;

const std::string other_run = "01ARYZ6S410000000000000001";

class ExclusiveTest : public testing::Test {
 protected:
  ExclusiveTest() {
    settings.set("gpu_lock", (world.folder / "gpu.lock").string(), "test");
    prepared.id = "01ARYZ6S410000000000000000";
    prepared.plan.profile.name = "train";
    prepared.exclusive = minutes{30};
  }
  sys::SharedLock claim() {
    return claim_gpu(prepared, engine, world.system, settings,
                     [&](const std::string& line) { said.push_back(line); });
  }

  test::TestSystem world;
  test::FakeEngine engine;
  Prepared prepared;
  config::Settings settings =
      config::Settings::load(world.system.environment, world.folder / "none");
  Strings said;
};

TEST_F(ExclusiveTest, AFreeGpuIsTakenAtOnce) {
  const sys::SharedLock lock = claim();

  EXPECT_TRUE(said.empty());
  EXPECT_NE(lock.content().find(prepared.id), std::string::npos);
  EXPECT_FALSE(sys::SharedLock{world.folder / "gpu.lock"}.try_take());
}

TEST_F(ExclusiveTest, SaysForWhomItWaitsAndGivesUpWhenTheTimeIsOver) {
  const sys::SharedLock lock = claim();
  world.clock.advance(minutes{41});

  const Error error = test::error_of([&] { claim(); });

  EXPECT_EQ(error.id(), "run.gpu_busy");
  EXPECT_EQ(said, Strings{"waiting for the GPU: run 01ARYZ6S410000000000000000 (train, 41 min); up "
                          "to 30 min"});
}

TEST_F(ExclusiveTest, ZeroDoesNotWait) {
  const sys::SharedLock lock = claim();
  prepared.exclusive = minutes{0};
  const auto before = world.clock.monotonic();

  EXPECT_EQ(test::error_of([&] { claim(); }).id(), "run.gpu_busy");

  EXPECT_EQ(world.clock.monotonic(), before);
  EXPECT_TRUE(said.empty());
}

TEST_F(ExclusiveTest, WhatAnybodyWroteThereCannotHarm) {
  sys::write_file_atomically(world.folder / "gpu.lock", R"({"run":"\u001b[2J","profile":[1]})");
  sys::SharedLock other{world.folder / "gpu.lock"};
  ASSERT_TRUE(other.try_take());

  EXPECT_EQ(test::error_of([&] { claim(); }).id(), "run.gpu_busy");

  EXPECT_EQ(said, Strings{"waiting for the GPU: another run; up to 30 min"});
}

TEST_F(ExclusiveTest, AContainerWhoseSparkrunIsGoneIsWaitedFor) {
  engine.containers["left"] = {.id = "c1",
                               .is_running = true,
                               .labels = {{"dev.sparkrun.exclusive", "true"},
                                          {"dev.sparkrun.run", other_run},
                                          {"dev.sparkrun.profile", "serve"}}};
  engine.on_wait = [&](auto) {
    engine.containers["left"].is_running = false;
    return true;
  };

  claim();

  EXPECT_EQ(said, Strings{"waiting for the GPU: run " + other_run + " (serve); up to 30 min"});
}

TEST_F(ExclusiveTest, AFileOfSomebodyElseThatIsNoFileIsRefused) {
  std::filesystem::create_directory(world.folder / "gpu.lock");

  EXPECT_EQ(test::error_of([&] { claim(); }).id(), "file.unwritable");
}

TEST(SettleMemory, WaitsUntilNothingIsGivenBackAnyMore) {
  test::FakeClock clock;
  std::vector<long long> free = {10 << 20, 20 << 20, 30 << 20, 30 << 20, 30 << 20, 99 << 20};
  size_t at = 0;

  EXPECT_TRUE(settle_memory(clock, [&] { return free.at(at++); }));

  EXPECT_EQ(at, 5U);
}

TEST(SettleMemory, GivesUpAfterHalfAMinute) {
  test::FakeClock clock;
  long long free = 0;
  const auto start = clock.monotonic();

  EXPECT_FALSE(settle_memory(clock, [&] { return free += 1 << 20; }));

  EXPECT_EQ(clock.monotonic() - start, std::chrono::seconds{30});
}

TEST(SettleMemory, DoesNotWaitForWhatIsUnknown) {
  test::FakeClock clock;
  EXPECT_TRUE(settle_memory(clock, [] { return -1LL; }));
}

}  // namespace
}  // namespace sparkrun::run
