// SPDX-License-Identifier: MIT
#include "plan/lints.hpp"

#include "plan/plan_fixture.hpp"

#include <gtest/gtest.h>

namespace sparkrun::plan {
namespace {

struct Lint {
  const char* profile;
  const char* begins;  // of the only warning; empty: there is none
};

TEST(Lints, SayWhatHasNoEffect) {
  constexpr Lint table[] = {
      {"[container]\nipc = 'host'\nremove = true", ""},
      {"[container]\nshm_size = '16g'", ""},
      {"[container]\nipc = 'host'\nshm_size = '16g'", "shm_size has no effect"},
      {"[container]\nnetwork = 'host'\npublish = ['1:1']", "publish has no effect"},
      {"[container]\nnetwork = 'bridge'\npublish = ['1:1']", ""},
      {"[container]\nrestart = 'always'\nremove = true", "docker refuses `restart`"},
      {"[container]\nrestart = 'no'\nremove = true", ""},
      {"[env]\nHF_HUB_ENABLE_HF_TRANSFER = '1'", "HF_HUB_ENABLE_HF_TRANSFER is deprecated"},
  };
  for (const Lint& row : table) {
    const auto warnings = made_up_plan(row.profile).warnings;

    ASSERT_EQ(warnings.size(), *row.begins == '\0' ? 0U : 1U) << row.profile;
    for (const auto& warning : warnings) EXPECT_TRUE(warning.starts_with(row.begins)) << warning;
  }
}

TEST(Lints, WarnOfAMovingTagUnlessALockPinsIt) {
  for (const char* const image :
       {"a/b", "a/b:latest", "a/b:1",
        "a/b@sha256:"
        "0000000000000000000000000000000000000000000000000000000000000000"}) {
    RunPlan plan = made_up_plan("");
    plan.profile.image = image;
    const bool is_moving =
        std::string_view{image} == "a/b" || std::string_view{image} == "a/b:latest";

    plan.image.pin = "remembered";
    EXPECT_EQ(lints(plan).size(), is_moving ? 1U : 0U) << image;
    plan.image.pin = "lock";
    EXPECT_EQ(lints(plan).size(), 0U) << image;
  }
}

TEST(Lints, WarnOfARestartThatBypassesTheChecks) {
  RunPlan plan = made_up_plan("[container]\nrestart = 'unless-stopped'");

  plan.gpu.access = profile::GpuAccess::gpus;

  EXPECT_EQ(lints(plan).size(), 1U);
}

}  // namespace
}  // namespace sparkrun::plan
