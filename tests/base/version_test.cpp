// SPDX-License-Identifier: MIT
#include "base/version.hpp"

#include <gtest/gtest.h>

namespace sparkrun {
namespace {

TEST(Version, OrdersNumbersAsNumbers) {
  const std::pair<std::string_view, std::string_view> rows[] = {
      {"25.9", "25.11"},
      {"580.95.05", "580.126.09"},
      {"580.95.05", "580.95.06"},
      {"9", "10"},
      {"13.0", "13.0.1"},
      {"25.09-py3", "25.10-py3"},
      {"25.09-py3", "25.09-py3-igpu"},
      {"", "0"},
      {"1.2.3", "1.2.3.4"},
      {"2.9.0", "2.9.0a0"},
      {"99999999999999999998", "99999999999999999999"},
      {"v1", "v2"},
  };
  for (const auto& [older, newer] : rows) {
    EXPECT_LT(Version::parse(older), Version::parse(newer)) << older << " " << newer;
    EXPECT_GT(Version::parse(newer), Version::parse(older)) << older << " " << newer;
  }
}

TEST(Version, IgnoresLeadingZerosAndBlanksAround) {
  EXPECT_EQ(Version::parse("25.09"), Version::parse("25.9"));
  EXPECT_EQ(Version::parse("0"), Version::parse("000"));
  EXPECT_EQ(Version::parse(" 13.0\n"), Version::parse("13.0"));
}

TEST(Version, KeepsItsText) { EXPECT_EQ(Version::parse(" 580.95.05\n").to_string(), "580.95.05"); }

TEST(Version, HasNumbers) {
  const Version version = Version::parse("25.09-py3");

  EXPECT_EQ(version.number(0), 25);
  EXPECT_EQ(version.number(1), 9);
  EXPECT_EQ(version.number(2), 3);
  EXPECT_EQ(version.number(3), 0);
  EXPECT_EQ(Version::parse("").number(0), 0);
  EXPECT_EQ(Version::parse("v13").number(0), 13);
  EXPECT_EQ(Version::parse("99999999999999999999").number(0), 0);  // more than fits
}

TEST(Version, HasOneOrderForAllTexts) {
  const std::string_view ascending[] = {"",     "-",  "1", "1.", "1.0", "1.0.1", "1.0a", "1.2",
                                        "1.10", "1a", "2", "10", "a",   "a1",    "b"};
  for (size_t i = 0; i < std::size(ascending); ++i) {
    for (size_t j = 0; j < std::size(ascending); ++j) {
      EXPECT_EQ(Version::parse(ascending[i]) <=> Version::parse(ascending[j]), i <=> j)
          << ascending[i] << " " << ascending[j];
    }
  }
}

}  // namespace
}  // namespace sparkrun
