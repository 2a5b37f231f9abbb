// SPDX-License-Identifier: MIT
#include "base/time.hpp"

#include <gtest/gtest.h>

namespace sparkrun {
namespace {

using std::chrono::milliseconds;

TimePoint at(long long milliseconds_since_epoch) {
  return TimePoint{milliseconds{milliseconds_since_epoch}};
}

TEST(Rfc3339, IsWrittenInUtcWithMilliseconds) {
  EXPECT_EQ(to_rfc3339(at(0)), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(to_rfc3339(at(1'784'020'323'114)), "2026-07-14T09:12:03.114Z");
  EXPECT_EQ(to_rfc3339(at(1'709'164'799'999)), "2024-02-28T23:59:59.999Z");
  EXPECT_EQ(to_rfc3339(at(1'709'164'800'000)), "2024-02-29T00:00:00.000Z");
  EXPECT_EQ(to_rfc3339(at(-1)), "1969-12-31T23:59:59.999Z");
}

TEST(Rfc3339, IsReadBack) {
  for (const long long time : {-1LL, 0LL, 951'782'400'000LL, 1'709'210'096'789LL,
                               1'784'020'323'114LL, 4'102'444'800'000LL}) {
    EXPECT_EQ(parse_rfc3339(to_rfc3339(at(time))), std::optional{at(time)});
  }
}

TEST(Rfc3339, UnderstandsOffsetsAndFractions) {
  const std::pair<std::string_view, std::string_view> rows[] = {
      {"2026-07-02T11:04:19Z", "2026-07-02T11:04:19.000Z"},
      {"2026-07-02t11:04:19z", "2026-07-02T11:04:19.000Z"},
      {"2026-07-02 11:04:19Z", "2026-07-02T11:04:19.000Z"},
      {"2026-07-02T11:04:19.5Z", "2026-07-02T11:04:19.500Z"},
      {"2026-07-02T11:04:19.123456789Z", "2026-07-02T11:04:19.123Z"},
      {"2026-07-02T11:04:19+02:00", "2026-07-02T09:04:19.000Z"},
      {"2026-07-02T23:30:00-05:30", "2026-07-03T05:00:00.000Z"},
      {"2026-07-02T11:04:19-00:00", "2026-07-02T11:04:19.000Z"},
      {"2024-02-29T00:00:00+00:01", "2024-02-28T23:59:00.000Z"},
      {"2016-12-31T23:59:60Z", "2017-01-01T00:00:00.000Z"},  // a leap second
  };
  for (const auto& [text, utc] : rows) {
    const auto time = parse_rfc3339(text);
    ASSERT_TRUE(time) << text;
    EXPECT_EQ(to_rfc3339(*time), utc) << text;
  }
}

TEST(Rfc3339, RejectsWhatIsNoTime) {
  for (const std::string_view text : {"",
                                      "Z",
                                      "2026-07-02",
                                      "2026-07-02T11:04:19",
                                      "2026-07-02T11:04Z",
                                      "2026-02-29T00:00:00Z",
                                      "2026-13-01T00:00:00Z",
                                      "2026-00-01T00:00:00Z",
                                      "2026-01-00T00:00:00Z",
                                      "2026-04-31T00:00:00Z",
                                      "2026-07-02T24:00:00Z",
                                      "2026-07-02T11:60:19Z",
                                      "2026-07-02T11:04:61Z",
                                      "2026-07-02T11:04:19.Z",
                                      "2026-07-02T11:04:19,5Z",
                                      "2026-07-02T11:04:19+0200",
                                      "2026-07-02T11:04:19+2:00",
                                      "2026-07-02T11:04:19+02:00x",
                                      "2026-07-02T11:04:19+24:00",
                                      "2026-07-02T11:04:19+02:60",
                                      "2026-07-02T11:04:19ZZ",
                                      "2026-07-02T11:04:19Z ",
                                      " 2026-07-02T11:04:19Z",
                                      "2026/07/02T11:04:19Z",
                                      "2026-07-02_11:04:19Z",
                                      "2026-7-02T11:04:19Z",
                                      "-026-07-02T11:04:19Z",
                                      "20260702T110419Z",
                                      "2026-07-02T11.04.19Z",
                                      "\xff\xff\xff\xff"}) {
    EXPECT_EQ(parse_rfc3339(text), std::nullopt) << text;
  }
}

TEST(Rfc3339, KnowsWhichCenturiesLeap) {
  EXPECT_TRUE(parse_rfc3339("2000-02-29T00:00:00Z"));
  EXPECT_FALSE(parse_rfc3339("2100-02-29T00:00:00Z"));
}

TEST(HumanDuration, NamesTheLargestUnitsOnly) {
  const std::pair<long long, std::string_view> rows[] = {
      {0, "0 s"},
      {999, "0 s"},
      {41'000, "41 s"},
      {59'999, "59 s"},
      {60'000, "1 min"},
      {3'599'000, "59 min"},
      {7'500'000, "2 h 5 min"},
      {172'799'000, "47 h 59 min"},
      {172'800'000, "2 days"},
      {1'036'800'000, "12 days"},
  };
  for (const auto& [duration, text] : rows) EXPECT_EQ(human_duration(milliseconds{duration}), text);
}

TEST(ParseDuration, TakesAUnit) {
  using std::chrono::seconds;
  EXPECT_EQ(parse_duration("90"), seconds{90});
  EXPECT_EQ(parse_duration("90s"), seconds{90});
  EXPECT_EQ(parse_duration("30m"), seconds{1800});
  EXPECT_EQ(parse_duration("2h"), seconds{7200});
  EXPECT_EQ(parse_duration("7d"), seconds{604800});
  EXPECT_EQ(parse_duration("0"), seconds{0});
  for (const std::string_view text : {"", "m", "-1s", "1.5h", "1w", "1 h", "99999999999999d"})
    EXPECT_EQ(parse_duration(text), std::nullopt) << text;
}

}  // namespace
}  // namespace sparkrun
