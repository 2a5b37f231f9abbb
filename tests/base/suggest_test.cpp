// SPDX-License-Identifier: MIT
#include "base/suggest.hpp"

#include <gtest/gtest.h>

namespace sparkrun {
namespace {

const std::vector<std::string> commands = {"audit",     "config",  "explain", "lock", "outdated",
                                           "preflight", "profile", "resolve", "run"};

TEST(Nearest, FindsASlipOfTheFinger) {
  const std::pair<std::string_view, std::string_view> rows[] = {
      {"lokc", "lock"},            // swapped
      {"rnu", "run"},              // swapped
      {"resolv", "resolve"},       // one short
      {"prefligth", "preflight"},  // swapped
      {"auditt", "audit"},         // one more
      {"conf", "config"},          // begun
      {"pro", "profile"},          // begun
  };
  for (const auto& [typed, meant] : rows)
    EXPECT_EQ(nearest(typed, commands), std::optional<std::string>{meant}) << typed;
}

TEST(Nearest, SaysNothingWhenNothingIsNear) {
  EXPECT_EQ(nearest("kubernetes", commands), std::nullopt);
  EXPECT_EQ(nearest("x", commands), std::nullopt);
  EXPECT_EQ(nearest("lock", {}), std::nullopt);
}

TEST(Nearest, DoesNotCompareWhatIsNoSlip) {
  const std::string longest(64, 'a'), longer(65, 'a');

  EXPECT_EQ(nearest(longest, {longest}), std::optional{longest});
  EXPECT_EQ(nearest(longer, {longer}), std::nullopt);
}

TEST(Nearest, TakesTheFirstOfEquallyNear) {
  EXPECT_EQ(nearest("cat", {"cut", "cot"}), std::optional<std::string>{"cut"});
}

TEST(DidYouMean, IsAPhraseOrNothing) {
  EXPECT_EQ(did_you_mean("lokc", commands), " (did you mean `lock`?)");
  EXPECT_EQ(did_you_mean("kubernetes", commands), "");
}

}  // namespace
}  // namespace sparkrun
