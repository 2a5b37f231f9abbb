// SPDX-License-Identifier: MIT
#include "run/pinned_tag.hpp"

#include <gtest/gtest.h>

namespace sparkrun::run {
namespace {

const std::string run_as = "reg.test/app@sha256:0123456789abcdef0123456789abcdef";

TEST(PinnedTag, NamesProfileAndPin) {
  EXPECT_EQ(pinned_tag("app", run_as), "sparkrun/app:pinned-0123456789ab");
  EXPECT_EQ(pinned_tag("a__b_-", run_as), "sparkrun/a--b:pinned-0123456789ab");
}

TEST(PinnedTag, IsKnownAgain) {
  for (const char* const profile : {"app", "a__b_-", "0"}) {
    EXPECT_TRUE(is_pinned_tag(pinned_tag(profile, run_as))) << profile;
    EXPECT_TRUE(is_pinned_tag("localhost/" + pinned_tag(profile, run_as))) << profile;
  }
}

TEST(PinnedTag, IsNotWhatAUserCallsAnImage) {
  for (const char* const tag :
       {"", "sparkrun/app", "sparkrun/app:1", "sparkrun/app:pinned-", "sparkrun/app:pinned-1",
        "sparkrun/app:pinned-0123456789AB", "sparkrun/app:pinned-0123456789abc",
        "reg.test/sparkrun/app:pinned-0123456789ab", "other/app:pinned-0123456789ab"}) {
    EXPECT_FALSE(is_pinned_tag(tag)) << tag;
  }
}

}  // namespace
}  // namespace sparkrun::run
