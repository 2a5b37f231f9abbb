// SPDX-License-Identifier: MIT
#include "base/ulid.hpp"

#include <gtest/gtest.h>

namespace sparkrun {
namespace {

using Random = std::array<uint8_t, 10>;

TimePoint at(long long milliseconds_since_epoch) {
  return TimePoint{std::chrono::milliseconds{milliseconds_since_epoch}};
}

constexpr Random all_ones = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

// https://github.com/ulid/spec: 1469918176385 is 01ARYZ6S41.
TEST(Ulid, EncodesTheTimeOfTheSpecification) {
  EXPECT_EQ(make_ulid(at(1'469'918'176'385), Random{}), "01ARYZ6S410000000000000000");
}

TEST(Ulid, ReachesBothEnds) {
  EXPECT_EQ(make_ulid(at(0), Random{}), "00000000000000000000000000");
  EXPECT_EQ(make_ulid(at((1LL << 48) - 1), all_ones), "7ZZZZZZZZZZZZZZZZZZZZZZZZZ");
}

TEST(Ulid, EncodesTheRandomBitsInOrder) {
  // 80 bits 00001 00010 .. 10000: the sixteen digits count up.
  constexpr Random counting = {0x08, 0x86, 0x42, 0x98, 0xe8, 0x4a, 0x96, 0xc6, 0xb9, 0xf0};

  EXPECT_EQ(make_ulid(at(0), counting).substr(10), "123456789ABCDEFG");
}

TEST(Ulid, SortsByTime) {
  std::string before = make_ulid(at(0), all_ones);
  for (long long time = 1; time < 1LL << 47; time = time * 3 + 1) {
    const std::string next = make_ulid(at(time), Random{});
    EXPECT_LT(before, next);
    before = make_ulid(at(time), all_ones);
  }
}

TEST(Ulid, IsKnownByItsAlphabet) {
  EXPECT_TRUE(is_ulid(make_ulid(at(1'784'020'323'114), all_ones)));
  for (const std::string_view text :
       {"", "01ARYZ6S41000000000000000", "01ARYZ6S4100000000000000000",
        "01ARYZ6S41000000000000000I", "01ARYZ6S41000000000000000L", "01ARYZ6S41000000000000000O",
        "01ARYZ6S41000000000000000U", "01aryz6s410000000000000000", "01ARYZ6S41 000000000000000"}) {
    EXPECT_FALSE(is_ulid(text)) << text;
  }
}

TEST(Ulid, IsNamedByItsStart) {
  EXPECT_TRUE(names_ulid("01ar", "01ARYZ6S410000000000000000"));
  EXPECT_TRUE(names_ulid("01ARYZ6S410000000000000000", "01ARYZ6S410000000000000000"));
  EXPECT_FALSE(names_ulid("01A", "01ARYZ6S410000000000000000"));
  EXPECT_FALSE(names_ulid("01AS", "01ARYZ6S410000000000000000"));
}

}  // namespace
}  // namespace sparkrun
