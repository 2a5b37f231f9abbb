// SPDX-License-Identifier: MIT
#include "base/json_value.hpp"

#include <climits>
#include <gtest/gtest.h>

namespace sparkrun {
namespace {

std::string nested(int depth) {
  return std::string(static_cast<size_t>(depth), '[') +
         std::string(static_cast<size_t>(depth), ']');
}

TEST(ParseJson, KeepsTheOrderOfKeys) {
  const auto json = parse_json(R"({"b":1,"a":{"z":[true,null],"y":"x"}})");

  ASSERT_TRUE(json);
  EXPECT_EQ(to_json_line(*json), R"({"b":1,"a":{"z":[true,null],"y":"x"}})");
}

TEST(ParseJson, RejectsWhatIsNotJson) {
  for (const std::string_view text :
       {"", " ", "{", "}", "[1,]", "{a:1}", "{\"a\":1} x", "nul", "'a'", "\"\xff\"", "\"\\ud800\"",
        "1e999", "// c\n1", "\xef\xbb\xbf"}) {
    EXPECT_EQ(parse_json(text), std::nullopt) << text;
  }
}

TEST(ParseJson, RejectsDuplicateKeysAtAnyDepth) {
  EXPECT_EQ(parse_json(R"({"a":1,"a":1})"), std::nullopt);
  EXPECT_EQ(parse_json(R"([{"b":{"a":1,"x":2,"a":3}}])"), std::nullopt);
  EXPECT_EQ(parse_json(R"({"a":1,"\u0061":2})"), std::nullopt);
  EXPECT_TRUE(parse_json(R"([{"a":1},{"a":1}])"));
  EXPECT_TRUE(parse_json(R"({"a":{"a":1}})"));
}

TEST(ParseJson, LimitsTheDepth) {
  EXPECT_TRUE(parse_json(nested(json_depth_max)));
  EXPECT_EQ(parse_json(nested(json_depth_max + 1)), std::nullopt);
  EXPECT_EQ(parse_json(std::string(1'000'000, '[')), std::nullopt);
}

TEST(ParseJson, DoesNotCountBracketsInStrings) {
  const std::string text = "[\"" + std::string(100, '[') + "\\\"" + std::string(100, '{') + "\"]";

  EXPECT_TRUE(parse_json(text));
}

TEST(ToJson, ReplacesBytesThatAreNotUtf8) {
  const Json json{{"name",
                   "a\xff"
                   "b"}};

  EXPECT_EQ(to_json_line(json),
            "{\"name\":\"a\xef\xbf\xbd"
            "b\"}");
  EXPECT_EQ(to_json_text(json),
            "{\n  \"name\": \"a\xef\xbf\xbd"
            "b\"\n}\n");
}

TEST(Member, IsNullWhereThereIsNone) {
  const Json json{{"a", 1}};

  EXPECT_TRUE(member(json, "b").is_null());
  EXPECT_TRUE(member(Json("text"), "a").is_null());
  EXPECT_TRUE(member(member(json, "b"), "c").is_null());
  EXPECT_EQ(member(json, "a"), Json(1));
}

TEST(MemberOr, FallsBackOnAbsenceAndOtherTypes) {
  const Json json{{"text", "t"}, {"number", 7}, {"yes", true}, {"real", 1.5}};

  EXPECT_EQ(string_or(json, "text"), "t");
  EXPECT_EQ(string_or(json, "number", "f"), "f");
  EXPECT_EQ(string_or(json, "absent", "f"), "f");
  EXPECT_EQ(integer_or(json, "number", -1), 7);
  EXPECT_EQ(integer_or(json, "real", -1), -1);
  EXPECT_EQ(integer_or(json, "text", -1), -1);
  EXPECT_TRUE(boolean_or(json, "yes", false));
  EXPECT_TRUE(boolean_or(json, "text", true));
}

TEST(IntegerOr, FallsBackWhenTheNumberDoesNotFit) {
  const auto json = parse_json(
      R"({"most":9223372036854775807,"more":9223372036854775808,"all":18446744073709551615})");

  ASSERT_TRUE(json);
  EXPECT_EQ(integer_or(*json, "most", 3), LLONG_MAX);
  EXPECT_EQ(integer_or(*json, "more", 3), 3);
  EXPECT_EQ(integer_or(*json, "all", 3), 3);
}

// Each member costs a look at those before it: 20,000 took ten seconds.
TEST(Json, HasNoObjectOfEndlesslyManyMembers) {
  const auto object = [](size_t count) {
    std::string text = "{";
    for (size_t i = 0; i < count; ++i) text += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\":1";
    return text + "}";
  };

  EXPECT_TRUE(parse_json(object(json_keys_max)));
  EXPECT_FALSE(parse_json(object(json_keys_max + 1)));
  EXPECT_FALSE(parse_json(object(200'000)));
}

}  // namespace
}  // namespace sparkrun
