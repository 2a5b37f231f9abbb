// SPDX-License-Identifier: MIT
#include "profile/options.hpp"

#include "profile/words.hpp"

#include <gtest/gtest.h>

namespace sparkrun::profile {
namespace {

TEST(Options, KnowEveryFlagThatPeopleUseOnDgxSpark) {
  for (const char* const flag : {"-e",
                                 "-v",
                                 "--gpus",
                                 "--rm",
                                 "--ulimit",
                                 "--name",
                                 "--ipc",
                                 "--network",
                                 "--net",
                                 "-i",
                                 "-t",
                                 "-d",
                                 "-p",
                                 "--shm-size",
                                 "--runtime",
                                 "--volume",
                                 "--entrypoint",
                                 "--device",
                                 "--privileged",
                                 "--env",
                                 "--restart",
                                 "-w",
                                 "--cap-add",
                                 "--security-opt",
                                 "--pids-limit",
                                 "--cap-drop",
                                 "--pull",
                                 "--workdir",
                                 "--label",
                                 "--mount",
                                 "--memory",
                                 "-m",
                                 "--user",
                                 "-u",
                                 "-a",
                                 "--env-file",
                                 "--memory-swap",
                                 "--log-driver",
                                 "--volumes-from",
                                 "--pid",
                                 "--sig-proxy",
                                 "-l",
                                 "--arch",
                                 "--userns",
                                 "--init",
                                 "--tmpfs",
                                 "--add-host",
                                 "--cpuset-cpus",
                                 "--platform",
                                 "--hostname",
                                 "-h",
                                 "--cidfile",
                                 "--sysctl",
                                 "--group-add"}) {
    EXPECT_NE(find_by_flag(flag), nullptr) << flag;
  }
}

TEST(Options, AreFoundByKeyAndByEverySpelling) {
  const Option* const network = find_by_key("network");

  ASSERT_NE(network, nullptr);
  EXPECT_EQ(find_by_flag("--network"), network);
  EXPECT_EQ(find_by_flag("--net"), network);
  EXPECT_EQ(find_by_key("remove"), find_by_flag("--rm"));
  EXPECT_EQ(find_by_key(""), nullptr);
  EXPECT_EQ(find_by_key("net"), nullptr);
  EXPECT_EQ(find_by_flag(""), nullptr);
  EXPECT_EQ(find_by_flag("--nonsense"), nullptr);
}

TEST(Options, HaveNoKeyForWhatHasAPlaceOfItsOwn) {
  for (const char* const flag :
       {"--gpus", "-v", "--mount", "-e", "--platform", "-i", "-t", "--cidfile"}) {
    EXPECT_EQ(find_by_flag(flag)->key, "") << flag;
  }
}

struct Spelling {
  std::vector<std::string> words;
  std::vector<std::string> read;  // canonical flag, and `=value`
  size_t end;
};

TEST(Words, AreReadInEverySpellingOfDocker) {
  const std::vector<Spelling> table = {
      {{"--privileged"}, {"--privileged"}, 1},
      {{"--privileged=true"}, {"--privileged=true"}, 1},
      {{"--pid", "host"}, {"--pid=host"}, 2},
      {{"--pid=host"}, {"--pid=host"}, 1},
      {{"-v", "/:/host"}, {"--volume=/:/host"}, 2},
      {{"-v/:/host"}, {"--volume=/:/host"}, 1},
      {{"-v=/:/host"}, {"--volume=/:/host"}, 1},
      {{"-itv", "/:/host"}, {"--interactive", "--tty", "--volume=/:/host"}, 2},
      {{"-eA=b=c"}, {"--env=A=b=c"}, 1},
      {{"--entrypoint", ""}, {"--entrypoint="}, 2},
      {{"--net", "host"}, {"--network=host"}, 2},
      {{"-v", "--rm", "image"},
       {"--volume=--rm"},
       2},  // docker takes the next word, whatever it is
      {{"--rm", "image", "--pid"}, {"--rm"}, 1},
      {{"--rm", "--", "--pid"}, {"--rm"}, 1},
      {{"--rm", "-"}, {"--rm"}, 1},
      {{"--unknown", "x"}, {"?"}, 1},
      {{"--unknown=x"}, {"?=x"}, 1},
      {{"--pid"}, {"--pid"}, 1},
      {{}, {}, 0},
  };
  for (const Spelling& spelling : table) {
    const ReadWords read = read_words(spelling.words);

    std::vector<std::string> words;
    for (const Word& word : read.options) {
      words.push_back((word.option ? std::string{word.option->flag} : "?") +
                      (word.value ? "=" + *word.value : ""));
    }
    EXPECT_EQ(words, spelling.read) << (spelling.words.empty() ? "" : spelling.words.front());
    EXPECT_EQ(read.end, spelling.end) << (spelling.words.empty() ? "" : spelling.words.front());
  }
}

TEST(Words, KnowAFlagThatIsSwitchedOff) {
  const std::vector<std::string> words = {"--privileged=false", "--privileged=0", "--privileged=1"};

  const auto read = read_words(words).options;

  EXPECT_FALSE(read.at(0).is_on());
  EXPECT_FALSE(read.at(1).is_on());
  EXPECT_TRUE(read.at(2).is_on());
}

TEST(Words, SayThatAValueIsMissing) {
  const std::vector<std::string> words = {"--rm", "--pid"};

  const auto read = read_words(words).options;

  EXPECT_FALSE(read.at(0).lacks_value());
  EXPECT_TRUE(read.at(1).lacks_value());
}

}  // namespace
}  // namespace sparkrun::profile
