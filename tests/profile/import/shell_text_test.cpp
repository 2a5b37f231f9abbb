// SPDX-License-Identifier: MIT
#include "profile/import/shell_text.hpp"

#include "base/text.hpp"
#include "profile/import/expansion.hpp"
#include "support/error_of.hpp"

#include <gtest/gtest.h>

namespace sparkrun::profile {
namespace {

const ImportFacts facts{.home = "/home/me",
                        .working_directory = "/work",
                        .project_root = "/work",
                        .uid = 1000,
                        .gid = 1000};

using Words = std::vector<std::string>;

// The words behind `docker run`, with their expansions as they were written.
Words words_of(const std::string& text) {
  Words words;
  for (const std::string& word : read_shell_text(text, facts).words) {
    words.push_back(as_written(word));
  }
  words.erase(words.begin(), words.begin() + 2);
  return words;
}

TEST(ShellText, ReadsWordsAsAShellDoes) {
  struct {
    std::string text;
    Words words;
  } const cases[] = {
      {"docker run a 'b c' \"d e\" f\\ g", {"a", "b c", "d e", "f g"}},
      {"docker run a''b \"\" ''", {"ab", "", ""}},
      {"docker run \\\n  a \\\r\n  b\r\n", {"a", "b"}},
      {"docker run a\\\nb", {"ab"}},
      {"docker run \"a\\\nb\" 'c\\\nd'", {"ab", "c\\\nd"}},
      {"docker run \"\\$a \\\\ \\\" \\n\"", {"$a \\ \" \\n"}},
      {"docker run $'a\\tb\\x41\\u00e9\\101\\''",
       {"a\tbA\xc3\xa9"
        "A'"}},
      {"docker run a # b", {"a"}},
      {"docker run a#b '#c'", {"a#b", "#c"}},
      {"docker run a; docker ps", {"a"}},
      {"X='1 2'; docker run $X \"$X\" a$X", {"1", "2", "1 2", "a1", "2"}},
      {"X=; docker run $X \"$X\" ${X}", {""}},
      {"X=1; docker run ${X:-2} ${Y:-3} ${Y-4} ${X:?no}", {"1", "${Y:-3}", "${Y:-4}", "1"}},
      {"docker run $A ${B} \"${C}\" '$D' \\$E", {"$A", "$B", "$C", "$D", "$E"}},
      {"docker run $(pwd) `pwd` $PWD ~ ~/x a~ \"~\"",
       {"$PWD", "$PWD", "$PWD", "$HOME", "$HOME/x", "a~", "~"}},
      {"docker run $(id -u):$(id -g) $UID", {"$(id -u):$(id -g)", "$(id -u)"}},
      {"docker run ${H:-$HOME/.cache} ${H:-~/x}", {"${H:-$HOME/.cache}", "${H:-$HOME/x}"}},
      {"docker run $(date) $((1+1)) ${A[@]} $1", {"$(date)", "$((1+1))", "${A[@]}", "$1"}},
      {"docker run $ a$ $,", {"$", "a$", "$,"}},
      {"docker run A=~/x", {"A=$HOME/x"}},
  };
  for (const auto& [text, words] : cases) EXPECT_EQ(words_of(text), words) << text;
}

TEST(ShellText, FollowsTheTextIntoAnotherFolder) {
  EXPECT_EQ(read_shell_text("cd a/b; cd ..; docker run x", facts).directory, "/work/a");
  EXPECT_EQ(read_shell_text("cd ~/a && docker run x", facts).directory, "/home/me/a");
  EXPECT_EQ(read_shell_text("cd; docker run x", facts).directory, "/home/me");
  EXPECT_EQ(read_shell_text("cd $UNKNOWN; docker run x", facts).directory, "/work");
  for (const char* const word : {"./x:/x", "../x:/x", "$(pwd):/x", "--volume=./x:/x"}) {
    const std::string text = std::string{"cd $UNKNOWN && docker run -v "} + word + " x";
    EXPECT_EQ(test::error_of([&] { read_shell_text(text, facts); }).id(), "import.inexpressible")
        << word;
  }
  EXPECT_EQ(words_of("HERE=$PWD; cd a; docker run $HERE $PWD"), (Words{"/work", "$PWD"}));
}

TEST(ShellText, KnowsWhatDockerSeesOfTheTextsVariables) {
  const ShellRun run =
      read_shell_text("export A=1 B=2\nC=3\nexport C\nD=4\nE=5 docker run x", facts);

  EXPECT_EQ(run.exported,
            (std::map<std::string, std::string>{{"A", "1"}, {"B", "2"}, {"C", "3"}, {"E", "5"}}));
}

TEST(ShellText, NamesTheCommandsThatItLeavesOut) {
  const ShellRun run = read_shell_text(
      "set -e\nmkdir -p x\ndocker pull a\ndocker login -p s3cret\ndocker run a && echo", facts);

  ASSERT_EQ(run.notes.size(), 1U);
  EXPECT_EQ(run.notes.front().text,
            "not imported, run it yourself where it is needed: `mkdir`, `docker pull`, `docker "
            "login`, `echo`");
}

TEST(ShellText, RefusesWhatIsNoTextOrTooMuch) {
  for (const std::string& text :
       {std::string{"docker run \0 a", 14}, std::string{"docker run \xff"}, std::string{},
        std::string(shell_text_bytes_max + 1, 'x'), std::string{"docker run 'a"},
        std::string{"docker run a\ndocker run b"}, std::string{"(docker run a)"}}) {
    EXPECT_EQ(test::error_of([&] { read_shell_text(text, facts); }).id(), "import.inexpressible")
        << text.substr(0, 40);
  }
}

}  // namespace
}  // namespace sparkrun::profile
