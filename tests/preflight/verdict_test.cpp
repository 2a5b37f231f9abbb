// SPDX-License-Identifier: MIT
#include "preflight/verdict.hpp"

#include "base/error.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace sparkrun::preflight {
namespace {

std::string verdict_for(Status blocking, Status other) {
  const Check blocking_check{.is_blocking = true};
  const Check other_check{.is_blocking = false};
  return verdict_of({{&blocking_check, {blocking, {}, {}}}, {&other_check, {other, {}, {}}}});
}

TEST(Verdict, IsBlockedByABlockingFailOnly) {
  EXPECT_EQ(verdict_for(Status::pass, Status::pass), "ready");
  EXPECT_EQ(verdict_for(Status::skip, Status::info), "ready");
  EXPECT_EQ(verdict_for(Status::warn, Status::pass), "ready-with-warnings");
  EXPECT_EQ(verdict_for(Status::pass, Status::warn), "ready-with-warnings");
  EXPECT_EQ(verdict_for(Status::pass, Status::fail), "ready-with-warnings");
  EXPECT_EQ(verdict_for(Status::fail, Status::pass), "blocked");
  EXPECT_EQ(verdict_for(Status::fail, Status::fail), "blocked");
  EXPECT_EQ(verdict_of({}), "ready");
}

TEST(Verdict, SkipsWhatNeedsAProbeWithTheReason) {
  const Report report = judge({.probe_note = "only the host is checked"}, {"G1"});

  ASSERT_EQ(report.results.size(), 1U);
  EXPECT_EQ(report.results[0].second.status, Status::skip);
  EXPECT_EQ(report.results[0].second.message, "only the host is checked");
  EXPECT_EQ(report.verdict, "ready");
}

TEST(Verdict, JudgesTheChosenChecksOnceInTheOrderOfTheTable) {
  const Report report = judge({}, {"memory", "g1", "G1"});

  ASSERT_EQ(report.results.size(), 2U);
  EXPECT_EQ(report.results[0].first->id, "G1");
  EXPECT_EQ(report.results[1].first->id, "memory");
}

TEST(Verdict, JudgesAllChecksWhenNoneIsChosen) {
  EXPECT_EQ(judge({}).results.size(), checks().size());
}

TEST(Verdict, RefusesAnUnknownCheckWithTheNearestReal) {
  try {
    judge({}, {"memry"});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.id(), "usage.bad_value");
    EXPECT_NE(std::string{error.what()}.find("did you mean `memory`?"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace sparkrun::preflight
