// SPDX-License-Identifier: MIT
#include "base/toml.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

namespace sparkrun {
namespace {

TomlNode parse(std::string_view text) {
  auto parsed = parse_toml(text);
  if (const auto* fault = std::get_if<TomlFault>(&parsed)) {
    ADD_FAILURE() << fault->line << ":" << fault->column << ": " << fault->message;
    return {};
  }
  return std::get<TomlNode>(std::move(parsed));
}

TEST(ParseToml, SaysWhereKeysAndValuesStand) {
  const TomlNode root = parse("version = 1\n\n[container]\n  remove = true\nipc = \"host\"\n");

  EXPECT_EQ(root.entries.at(0).first, "version");
  EXPECT_EQ(root.find("version")->line, 1);
  EXPECT_EQ(root.find("version")->column, 1);
  const TomlNode* const container = root.find("container");
  EXPECT_EQ(container->line, 3);
  EXPECT_EQ(container->find("remove")->line, 4);
  EXPECT_EQ(container->find("remove")->column, 3);
  EXPECT_EQ(container->find("ipc")->line, 5);
}

TEST(ParseToml, SaysWhereItemsOfAnArrayStand) {
  const TomlNode root =
      parse("platforms = [\n  \"a\",\n  \"b\" ]\n[[mount]]\nsource = \"x\"\n[[mount]]\n");

  EXPECT_EQ(root.find("platforms")->items.at(1).line, 3);
  EXPECT_EQ(root.find("platforms")->items.at(1).column, 3);
  EXPECT_EQ(root.find("mount")->items.at(1).line, 6);
}

TEST(ParseToml, KeepsTheOrderOfTheFile) {
  const TomlNode root = parse("z = 1\na = 2\nm = 3\n");

  std::vector<std::string> keys;
  for (const auto& [key, node] : root.entries) keys.push_back(key);

  EXPECT_EQ(keys, (std::vector<std::string>{"z", "a", "m"}));
}

TEST(ParseToml, KnowsEveryKind) {
  using Kind = TomlNode::Kind;
  const TomlNode root =
      parse("s = \"a\"\ni = -7\nr = 1.5\nb = true\na = [1]\nt = {x = 1}\nd = 2026-07-14\n");
  const std::pair<std::string_view, Kind> rows[] = {
      {"s", Kind::string}, {"i", Kind::integer}, {"r", Kind::real}, {"b", Kind::boolean},
      {"a", Kind::array},  {"t", Kind::table},   {"d", Kind::other}};
  for (const auto& [key, kind] : rows) EXPECT_EQ(root.find(key)->kind, kind) << key;
  EXPECT_EQ(root.find("i")->integer, -7);
  EXPECT_EQ(root.find("r")->real, 1.5);
  EXPECT_TRUE(root.find("b")->boolean);
  EXPECT_EQ(root.find("t")->find("x")->integer, 1);
  EXPECT_EQ(root.find("none"), nullptr);
}

TEST(ParseToml, SaysWhereTheFaultIs) {
  const std::pair<std::string_view, int> rows[] = {
      {"a = 1\na = 2\n", 2},       {"[t]\n[t]\n", 2},    {"\n\nx = \n", 3},     {"= 1\n", 1},
      {"a = \"unterminated\n", 1}, {"a = 1 b = 2\n", 1}, {"a = \"\xff\"\n", 1},
  };
  for (const auto& [text, line] : rows) {
    const auto parsed = parse_toml(text);
    const auto* const fault = std::get_if<TomlFault>(&parsed);
    ASSERT_NE(fault, nullptr) << text;
    EXPECT_EQ(fault->line, line) << text;
    EXPECT_FALSE(fault->message.empty());
  }
}

TEST(ParseToml, SurvivesAnyDepth) {
  const std::string inner = "a = " + std::string(100, '[') + std::string(100, ']') + "\n";

  EXPECT_TRUE(std::holds_alternative<TomlNode>(parse_toml(inner)));
  EXPECT_TRUE(std::holds_alternative<TomlFault>(parse_toml("a = " + std::string(100'000, '['))));
}

TEST(Describe, FinishesTheSentenceMustBe) {
  EXPECT_EQ(describe(TomlNode::Kind::string), "a string");
  EXPECT_EQ(describe(TomlNode::Kind::integer), "a whole number");
  EXPECT_EQ(describe(TomlNode::Kind::real), "a number with a fraction");
  EXPECT_EQ(describe(TomlNode::Kind::boolean), "true or false");
  EXPECT_EQ(describe(TomlNode::Kind::array), "an array");
  EXPECT_EQ(describe(TomlNode::Kind::table), "a table");
  EXPECT_EQ(describe(TomlNode::Kind::other), "a date or time");
}

TEST(TomlKey, IsBareWhereTomlAllowsIt) {
  EXPECT_EQ(toml_key("CUDA_VERSION-2"), "CUDA_VERSION-2");
  EXPECT_EQ(toml_key("linux/arm64"), "\"linux/arm64\"");
  EXPECT_EQ(toml_key(""), "\"\"");
  EXPECT_EQ(toml_key("a.b"), "\"a.b\"");
}

TEST(TomlString, WritesTheShortEscapes) {
  EXPECT_EQ(toml_string("a\"b\\c\n\t\r"), R"("a\"b\\c\n\t\r")");
  EXPECT_EQ(toml_string(std::string_view{"\0\x1b\x7f", 3}), R"("\u0000\u001B\u007F")");
}

// A text of printable, control and non-ASCII code points.
std::string random_text(std::mt19937& random) {
  constexpr std::string_view pieces[] = {"\"",
                                         "\\",
                                         "\n",
                                         "\r",
                                         "\t",
                                         "\x01",
                                         "\x1b",
                                         "\x7f",
                                         "#",
                                         "=",
                                         "[",
                                         "'",
                                         "'''",
                                         "\"\"\"",
                                         " ",
                                         "a",
                                         "Z",
                                         "9",
                                         "_",
                                         "-",
                                         ".",
                                         "\xc3\xbc",
                                         "\xe2\x82\xac",
                                         "\xf0\x9f\x9a\x80",
                                         "\\u0041",
                                         "\xc2\x85"};
  std::string text;
  for (auto left = random() % 12; left > 0; --left) text += pieces[random() % std::size(pieces)];
  return text;
}

TEST(TomlQuoting, IsReadBackUnchanged) {
  std::mt19937 random{20260714};
  for (int i = 0; i < 2000; ++i) {
    const std::string key = random_text(random), value = random_text(random);
    const TomlNode root = parse(fmt::format("{} = {}\n", toml_key(key), toml_string(value)));
    ASSERT_EQ(root.entries.size(), 1U);
    EXPECT_EQ(root.entries.front().first, key);
    EXPECT_EQ(root.entries.front().second.string, value);
  }
}

TEST(ConflictMarker, IsFoundWithItsLine) {
  EXPECT_EQ(find_conflict_marker("a = 1\n<<<<<<< HEAD\nb = 1\n=======\nb = 2\n>>>>>>> other\n"),
            std::optional{2});
  EXPECT_EQ(find_conflict_marker("||||||| base\n"), std::optional{1});
  EXPECT_EQ(find_conflict_marker("a\n=======\n"), std::optional{2});
  EXPECT_EQ(find_conflict_marker(">>>>>>> x"), std::optional{1});
}

TEST(ConflictMarker, IsNotSeenInOrdinaryText) {
  EXPECT_EQ(find_conflict_marker(""), std::nullopt);
  EXPECT_EQ(find_conflict_marker("# <<<<<<< HEAD\n"), std::nullopt);
  EXPECT_EQ(find_conflict_marker("<<<<<<<\n========\n"), std::nullopt);
}

// The library recurses into each part: 20,000 of them took it past the end of the stack.
TEST(Toml, HasNoKeyOfEndlesslyManyParts) {
  std::string key = "a";
  for (int i = 0; i < 50'000; ++i) key += ".a";

  for (const std::string& text : {"[" + key + "]", key + " = 1", "x = { " + key + " = 1 }"}) {
    EXPECT_TRUE(std::holds_alternative<TomlFault>(parse_toml("b = 1\n" + text)));
  }
  EXPECT_TRUE(std::holds_alternative<TomlNode>(parse_toml(
      "a.b.c = 1\nt = \"" + std::string(1000, '.') + "\"\n# " + std::string(1000, '.'))));
}

}  // namespace
}  // namespace sparkrun
