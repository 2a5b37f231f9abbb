// SPDX-License-Identifier: MIT
#include "base/csv.hpp"

#include <gtest/gtest.h>

namespace sparkrun {
namespace {

using Strings = std::vector<std::string>;

TEST(Csv, ReadsOneRecord) {
  EXPECT_EQ(parse_csv_record(""), Strings{""});
  EXPECT_EQ(parse_csv_record("a,b,"), (Strings{"a", "b", ""}));
  EXPECT_EQ(parse_csv_record("a,\"b,c\",d"), (Strings{"a", "b,c", "d"}));
  EXPECT_EQ(parse_csv_record("\"a\"\"b\""), Strings{"a\"b"});
  EXPECT_EQ(parse_csv_record("\"a\nb\""), Strings{"a\nb"});
}

TEST(Csv, RefusesWhatIsNotOneRecord) {
  for (const char* const text : {"a\"b", "\"a", "\"a\"b", "a\nb", "a\r", "\"a\"\n\"b\"", "\n"})
    EXPECT_EQ(parse_csv_record(text), std::nullopt) << text;
}

TEST(Csv, ReadsBackWhatItWrites) {
  for (const std::string field : {"", "a", "a,b", "\"", "a\"b", "a\nb", " a", "é,日"}) {
    EXPECT_EQ(parse_csv_record(csv_field(field) + ",x"), (Strings{field, "x"})) << field;
  }
}

}  // namespace
}  // namespace sparkrun
