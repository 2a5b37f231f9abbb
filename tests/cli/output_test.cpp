// SPDX-License-Identifier: MIT
#include "cli/output.hpp"

#include "base/json_value.hpp"
#include "support/fake_terminal.hpp"

#include <gtest/gtest.h>

namespace sparkrun::cli {
namespace {

class OutputTest : public testing::Test {
 protected:
  static Error example() {
    Error error{"registry.login_needed",
                "registry nvcr.io does not give nvidia/vllm:25.10 to anonymous clients",
                {{"registry", "nvcr.io"}}};
    error.add_context("locking profile `vllm`");
    return error;
  }

  test::FakeTerminal terminal;
  Output output{terminal};
};

TEST_F(OutputTest, WritesAnErrorAsABlockOfLines) {
  output.error(example());

  EXPECT_EQ(
      terminal.err,
      "error: registry nvcr.io does not give nvidia/vllm:25.10 to anonymous clients\n"
      "  while: locking profile `vllm`\n"
      "  hint:  run `docker login nvcr.io`; for nvcr.io the user is literally `$oauthtoken` and "
      "the password is your NGC API key. "
      "Check the name as well: registries answer the same for a repository that does not exist\n"
      "  code:  registry.login_needed\n");
  EXPECT_EQ(terminal.out, "");
}

TEST_F(OutputTest, ListsEveryProblemOfAnError) {
  output.error(
      Error{"profile.invalid", "p.toml is not valid", {}, {"p.toml:1:1: a", "p.toml:2:1: b"}});

  EXPECT_EQ(terminal.err,
            "error: p.toml is not valid\n"
            "  - p.toml:1:1: a\n"
            "  - p.toml:2:1: b\n"
            "  hint:  correct the lines named above; docs/formats.md lists every key\n"
            "  code:  profile.invalid\n");
}

TEST_F(OutputTest, LeavesOutAHintThatIsNotThere) {
  output.error(Error{"interrupted", "interrupted by SIGTERM"});

  EXPECT_EQ(terminal.err, "error: interrupted by SIGTERM\n  code:  interrupted\n");
}

TEST_F(OutputTest, WritesAResultInTheFormThatIsWanted) {
  output.result(Json{{"a", 1}}, "a is 1\n");
  output.json = true;
  output.result(Json{{"a", 1}}, "a is 1\n");

  EXPECT_EQ(terminal.out, "a is 1\n{\n  \"a\": 1\n}\n");
}

TEST_F(OutputTest, WritesAnErrorAsOneJsonObject) {
  output.json = true;

  output.error(Error{"lock.stale", "the lock is stale", {{"profile", "vllm"}}, {"image: a"}});

  EXPECT_EQ(
      terminal.err,
      R"({"error":{"id":"lock.stale","message":"the lock is stale","while":[],"details":{"profile":"vllm","problems":["image: a"]},)"
      R"("hint":"run `sparkrun lock vllm` to pin what the profile says now, and review the change","exit_code":3}})"
      "\n");
  EXPECT_EQ(terminal.out, "");
}

TEST_F(OutputTest, TakesControlCharactersOutOfAllTalk) {
  output.verbose = true;

  output.note("a\x1b[2J");
  output.detail("b\x1b");
  output.warning("c\x07");
  output.error(Error{"bug", "d\x9b", {}, {"e\x1b"}});

  EXPECT_EQ(terminal.err.find('\x1b'), std::string::npos);
  EXPECT_TRUE(terminal.err.starts_with("a?[2J\nb?\nwarning: c?\nerror: d?\n  - e?\n"))
      << terminal.err;
}

TEST_F(OutputTest, IsSilentWhenQuiet) {
  output.quiet = true;

  output.note("note");
  output.detail("detail");
  output.warning("warning");
  output.result("result\n");

  EXPECT_EQ(terminal.err, "warning: warning\n");
  EXPECT_EQ(terminal.out, "result\n");
}

TEST_F(OutputTest, ShowsDetailsWhenVerbose) {
  output.detail("hidden");
  output.verbose = true;
  output.detail("shown");

  EXPECT_EQ(terminal.err, "shown\n");
}

TEST_F(OutputTest, ColoursOnlyWhereItIsWanted) {
  EXPECT_EQ(output.styled(Style::green, "pass"), "pass");
  output.color_out = true;
  output.color_err = true;

  output.warning("w");

  EXPECT_EQ(output.styled(Style::green, "pass"), "\x1b[32mpass\x1b[0m");
  EXPECT_EQ(output.styled(Style::plain, "pass"), "pass");
  EXPECT_EQ(terminal.err, "\x1b[33mwarning:\x1b[0m w\n");
}

TEST_F(OutputTest, WritesJsonIndented) {
  output.result_json(Json{{"a", {1, 2}}});

  EXPECT_EQ(terminal.out, "{\n  \"a\": [\n    1,\n    2\n  ]\n}\n");
}

TEST(RenderTable, PadsColumnsWithoutTrailingBlanks) {
  EXPECT_EQ(render_table({{"NAME", "FROM", "IMAGE"},
                          {"unsloth", "built-in", "u"},
                          {"\xc3\xa4\xc3\xb6", "", "x"},
                          {"short"}}),
            "NAME     FROM      IMAGE\n"
            "unsloth  built-in  u\n"
            "\xc3\xa4\xc3\xb6                 x\n"
            "short\n");
}

TEST(RenderTable, IsEmptyWithoutRows) {
  EXPECT_EQ(render_table({}), "");
  EXPECT_EQ(render_table({{""}}), "\n");
}

TEST(RenderTable, MakesCellsPrintable) {
  EXPECT_EQ(render_table({{"a\x1b[1m", "b"}}), "a?[1m  b\n");
}

}  // namespace
}  // namespace sparkrun::cli
