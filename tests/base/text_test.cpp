// SPDX-License-Identifier: MIT
#include "base/text.hpp"

#include "sys/process.hpp"

#include <climits>
#include <gtest/gtest.h>

#include <random>

namespace sparkrun {
namespace {

using Parts = std::vector<std::string_view>;

TEST(SplitOnce, CutsAtTheFirstSeparator) {
  EXPECT_EQ(split_once("a=b=c", '='), (std::pair<std::string_view, std::string_view>{"a", "b=c"}));
  EXPECT_EQ(split_once("a", '='), (std::pair<std::string_view, std::string_view>{"a", ""}));
  EXPECT_EQ(split_once("=", '='), (std::pair<std::string_view, std::string_view>{"", ""}));
}

TEST(Split, KeepsEmptyParts) {
  EXPECT_EQ(split("a,b", ','), (Parts{"a", "b"}));
  EXPECT_EQ(split(",a,,", ','), (Parts{"", "a", "", ""}));
  EXPECT_EQ(split("", ','), (Parts{""}));
}

TEST(Split, IsUndoneByJoin) {
  for (const std::string text : {"", ",", "a,b,c", ",,x"}) {
    const Parts parts = split(text, ',');
    EXPECT_EQ(join({parts.begin(), parts.end()}, ","), text);
  }
}

TEST(Trim, TakesBlanksOffBothEnds) {
  EXPECT_EQ(trim("  a b\t\r\n"), "a b");
  EXPECT_EQ(trim(" \n"), "");
  EXPECT_EQ(trim(""), "");
}

TEST(Case, ChangesOnlyAsciiLetters) {
  EXPECT_EQ(to_lower("LINUX/ARM64 \xc3\x84"), "linux/arm64 \xc3\x84");
  EXPECT_EQ(to_upper("audit_dir \xc3\xa4"), "AUDIT_DIR \xc3\xa4");
  EXPECT_TRUE(equal_ignoring_case("WWW-Authenticate", "www-authenticate"));
  EXPECT_FALSE(equal_ignoring_case("a", "ab"));
  EXPECT_FALSE(equal_ignoring_case("@", "`"));
}

TEST(Hex, IsLowerCase) {
  EXPECT_EQ(to_hex(std::string_view{"\x00\x0f\xff", 3}), "000fff");
  EXPECT_TRUE(is_lower_hex("0af9", 4));
  EXPECT_FALSE(is_lower_hex("0af9", 5));
  EXPECT_FALSE(is_lower_hex("0AF9", 4));
  EXPECT_FALSE(is_lower_hex("0ag9", 4));
}

TEST(ParseNumber, TakesWholeUnsignedDecimalsOnly) {
  const std::pair<std::string_view, std::optional<long long>> rows[] = {
      {"0", 0},
      {"007", 7},
      {"9223372036854775807", LLONG_MAX},
      {"9223372036854775808", std::nullopt},
      {"99999999999999999999999", std::nullopt},
      {"", std::nullopt},
      {"-1", std::nullopt},
      {"-0", std::nullopt},
      {"+1", std::nullopt},
      {" 1", std::nullopt},
      {"1 ", std::nullopt},
      {"1.0", std::nullopt},
      {"0x10", std::nullopt},
      {"1e3", std::nullopt},
  };
  for (const auto& [text, number] : rows) EXPECT_EQ(parse_number(text), number) << text;
}

TEST(ShellQuote, LeavesPlainWordsAlone) {
  for (const std::string word :
       {"docker", "--ipc=host", "nvcr.io/nvidia/pytorch:25.09-py3", "a@sha256:0f", "1,2", "+x%"}) {
    EXPECT_EQ(shell_quote(word), word);
  }
}

TEST(ShellQuote, QuotesWhatAShellWouldChange) {
  const std::pair<std::string, std::string> rows[] = {
      {"", "''"},       {"a b", "'a b'"},     {"it's", "'it'\\''s'"}, {"~", "'~'"},
      {"=ls", "'=ls'"}, {"$HOME", "'$HOME'"}, {"*", "'*'"},           {"a\nb", "'a\nb'"},
      {"a;b", "'a;b'"}, {"!1", "'!1'"},       {"#x", "'#x'"},         {"{a,b}", "'{a,b}'"},
  };
  for (const auto& [word, quoted] : rows) EXPECT_EQ(shell_quote(word), quoted);
}

// What /bin/sh makes of a line: its words, each ended by a NUL.
std::vector<std::string> words_of_a_shell(const std::string& line) {
  sys::Signals signals;
  sys::PosixProcesses processes{signals};
  const sys::ProcessResult result =
      processes.run({.argv = {"/bin/sh", "-c", "printf '%s\\000' " + line}});
  EXPECT_TRUE(result.is_success()) << result.err;
  std::vector<std::string> words;
  for (const std::string_view word : split(result.out, '\0')) words.emplace_back(word);
  words.pop_back();
  return words;
}

TEST(ShellJoin, IsReadBackByARealShell) {
  const std::vector<std::string> nasty = {"",
                                          " ",
                                          "\n",
                                          "a\nb\n",
                                          "'",
                                          "''",
                                          "\"",
                                          "\\",
                                          "\\n",
                                          "$HOME",
                                          "$(id)",
                                          "`id`",
                                          "~",
                                          "~root",
                                          "=ls",
                                          "a=~",
                                          "*",
                                          "[a-z]?",
                                          "{a,b}",
                                          "!!",
                                          "#",
                                          "a;b",
                                          "a&b",
                                          "a|b",
                                          "<in",
                                          ">out",
                                          "(x)",
                                          "\t",
                                          "\r",
                                          "\x1b[1m",
                                          "\x7f",
                                          "gr\xc3\xbc\xc3\x9f",
                                          "\xe2\x80\xa6",
                                          "\xf0\x9f\x9a\x80",
                                          "\xff\xfe",
                                          "-n",
                                          "--",
                                          "%s",
                                          "%%",
                                          "a'b\"c\\d $e",
                                          "^caret",
                                          "\xc2\xa0"};

  EXPECT_EQ(words_of_a_shell(shell_join(nasty)), nasty);
}

TEST(ShellJoin, IsReadBackForEveryByteAndRandomWords) {
  std::mt19937 random{20260714};
  std::vector<std::string> words;
  for (int byte = 1; byte < 256; ++byte) words.emplace_back(1, static_cast<char>(byte));
  for (int i = 0; i < 200; ++i) {
    std::string word;
    for (auto left = random() % 12; left > 0; --left) word += static_cast<char>(1 + random() % 255);
    words.push_back(word);
  }

  EXPECT_EQ(words_of_a_shell(shell_join(words)), words);
}

TEST(MatchesGlob, MatchesTheWholeText) {
  struct Row {
    std::string_view pattern, text;
    bool matches;
  };
  const Row rows[] = {
      {"25.*-py3", "25.09-py3", true},
      {"25.*-py3", "25.09-py3-igpu", false},
      {"25.?\?-py3", "25.09-py3", true},
      {"25.?\?-py3", "25.9-py3", false},
      {"*", "", true},
      {"**", "abc", true},
      {"", "", true},
      {"", "a", false},
      {"?", "", false},
      {"a*b*c", "aXbYc", true},
      {"a*b*c", "aXbY", false},
      {"*a", "aaa", true},
      {"a*", "ba", false},
      {"[a]", "a", false},
      {"[a]", "[a]", true},
      {"*.*", "nodot", false},
      {"a?*", "a", false},
      {"*?", "a", true},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(matches_glob(row.pattern, row.text), row.matches)
        << row.pattern << " on " << row.text;
  }
}

TEST(MatchesGlob, IsFastForManyStars) {
  std::string pattern;
  for (int i = 0; i < 30; ++i) pattern += "a*";

  EXPECT_FALSE(matches_glob(pattern + "b", std::string(5000, 'a')));
}

TEST(Printable, TakesTheTeethOutOfForeignText) {
  const std::pair<std::string, std::string> rows[] = {
      {"plain\ttext\n", "plain\ttext\n"},
      {"\x1b[31mred\x1b[0m", "?[31mred?[0m"},
      {"\x1b]0;title\x07", "?]0;title?"},
      {"a\rb\x08", "a?b?"},
      {std::string{"a\0b", 3}, "a?b"},
      {"\x7f", "?"},
      {"gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x9a\x80",
       "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x9a\x80"},
      {"\xc2\x9b"
       "31m",
       "?31m"},                    // C1: CSI as one code point
      {"\xc2\x80\xc2\x9f", "??"},  // first and last of C1
      {"\xc2\xa0", "\xc2\xa0"},    // the one after: no control
      {"\x9b"
       "31m",
       "?31m"},  // a raw C1 byte is not UTF-8
      {"\xff\xfe", "??"},
      {"\xc3", "?"},       // cut off
      {"\xc3(", "?("},     // what follows is looked at by itself
      {"\xc0\xaf", "??"},  // overlong `/`
      {"\xe0\x80\xaf", "???"},
      {"\xed\xa0\x80", "???"},                   // a surrogate
      {"\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf"},  // U+10FFFF
      {"\xf4\x90\x80\x80", "????"},              // beyond it
      {"\xe2\x82", "??"},
  };
  for (const auto& [text, clean] : rows) EXPECT_EQ(printable(text), clean);
}

TEST(HumanBytes, UsesBinaryUnits) {
  const std::pair<long long, std::string_view> rows[] = {
      {0, "0 B"},
      {1023, "1023 B"},
      {1024, "1.0 KiB"},
      {1536, "1.5 KiB"},
      {1 << 20, "1.0 MiB"},
      {11482379012, "10.7 GiB"},
      {1LL << 40, "1.0 TiB"},
      {1LL << 50, "1024.0 TiB"},
  };
  for (const auto& [bytes, text] : rows) EXPECT_EQ(human_bytes(bytes), text);
}

TEST(Text, KnowsUtf8) {
  for (const char* const text : {"", "a", "\xc3\xa9", "\xf0\x9f\x9a\x80", "\x01"}) {
    EXPECT_TRUE(is_utf8(text)) << text;
  }
  for (const char* const text : {"\xff", "\xc3", "\xc0\x80", "\xed\xa0\x80", "a\x80"}) {
    EXPECT_FALSE(is_utf8(text)) << printable(text);
  }
}

}  // namespace
}  // namespace sparkrun
