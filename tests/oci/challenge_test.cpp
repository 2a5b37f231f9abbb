// SPDX-License-Identifier: MIT
#include "oci/challenge.hpp"

#include <gtest/gtest.h>

namespace sparkrun::oci {
namespace {

std::vector<Challenge> parse(const std::vector<std::string>& headers) {
  return parse_challenges(headers);
}

TEST(Challenge, ReadsTheQuotedValuesOfABearerChallenge) {
  const auto challenges = parse(
      {R"(Bearer realm="https://auth.docker.io/token",service="registry.docker.io",scope="repository:a/b:pull,push")"});

  ASSERT_EQ(challenges.size(), 1U);
  EXPECT_EQ(challenges[0].scheme, "bearer");
  EXPECT_EQ(challenges[0].value("realm"), "https://auth.docker.io/token");
  EXPECT_EQ(challenges[0].value("service"), "registry.docker.io");
  EXPECT_EQ(challenges[0].value("scope"), "repository:a/b:pull,push");
  EXPECT_EQ(challenges[0].value("error"), "");
}

TEST(Challenge, ReadsUnquotedValuesWithSlashes) {
  const auto challenges = parse({"bearer Realm = https://a.test/t , SERVICE=x"});

  ASSERT_EQ(challenges.size(), 1U);
  EXPECT_EQ(challenges[0].value("realm"), "https://a.test/t");
  EXPECT_EQ(challenges[0].value("service"), "x");
}

TEST(Challenge, KeepsBlanksCommasAndEscapedQuotesInsideQuotes) {
  const auto challenges = parse({R"(Bearer realm="r", service="a \"b\", c=d")"});

  ASSERT_EQ(challenges.size(), 1U);
  EXPECT_EQ(challenges[0].value("service"), R"(a "b", c=d)");
}

TEST(Challenge, TellsTheChallengesOfOneHeaderApart) {
  const auto challenges =
      parse({R"(Negotiate, Basic realm="x", Bearer realm="y",service=z, NTLM TlRMTVNTUAAC==)"});

  ASSERT_EQ(challenges.size(), 4U);
  EXPECT_EQ(challenges[0].scheme, "negotiate");
  EXPECT_EQ(challenges[1].value("realm"), "x");
  EXPECT_EQ(challenges[2].value("service"), "z");
  EXPECT_EQ(challenges[3].scheme, "ntlm");
}

TEST(Challenge, DoesNotTakeAToken68ForAScheme) {
  const auto challenges = parse({R"(Negotiate YIIZ, Bearer realm="y")"});

  ASSERT_EQ(challenges.size(), 2U);
  EXPECT_EQ(challenges[1].scheme, "bearer");
}

TEST(Challenge, ReadsSeveralHeaders) {
  EXPECT_EQ(parse({"Negotiate", R"(Bearer realm="y")"}).size(), 2U);
}

TEST(Challenge, SurvivesGarbage) {
  for (const std::string text : {"", ",", "=", "\"", "Bearer realm=\"", "==,,==", "Bearer ,=,",
                                 "\x01\x02", "Bearer realm"}) {
    EXPECT_FALSE(choose_challenge(parse({text}), false).has_value()) << text;
  }
}

TEST(Challenge, IsBearerWhereverItStands) {
  const auto challenges = parse({R"(Basic realm="x")", R"(Bearer realm="y")"});

  EXPECT_EQ(choose_challenge(challenges, true)->scheme, "bearer");
}

TEST(Challenge, IsBasicOnlyForOneWithAPassword) {
  const auto challenges = parse({"Basic"});

  EXPECT_EQ(choose_challenge(challenges, true)->scheme, "basic");
  EXPECT_FALSE(choose_challenge(challenges, false).has_value());
}

}  // namespace
}  // namespace sparkrun::oci
