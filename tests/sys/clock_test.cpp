// SPDX-License-Identifier: MIT
#include "sys/clock.hpp"

#include <gtest/gtest.h>

#include <ctime>

namespace sparkrun::sys {
namespace {

TEST(SystemClock, TellsTheTimeOfTheSystem) {
  const auto before = std::chrono::seconds{std::time(nullptr) - 1};

  const auto now = SystemClock{}.now().time_since_epoch();

  EXPECT_GE(now, before);
  EXPECT_LE(now, before + std::chrono::seconds{60});
}

TEST(SystemClock, NeverGoesBack) {
  const SystemClock clock;
  auto before = clock.monotonic();
  for (int i = 0; i < 1000; ++i) {
    const auto now = clock.monotonic();
    EXPECT_GE(now, before);
    before = now;
  }
}

TEST(SystemClock, DrawsDifferentBytes) {
  SystemClock clock;

  EXPECT_NE(clock.randomness(), clock.randomness());
}

}  // namespace
}  // namespace sparkrun::sys
