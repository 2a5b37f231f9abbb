// SPDX-License-Identifier: MIT
#include "base/error.hpp"
#include "sys/process.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <csignal>
#include <sys/wait.h>

namespace sparkrun::sys {
namespace {

using std::chrono::milliseconds;

class PipelineTest : public testing::Test {
 protected:
  std::vector<ProcessResult> run(const std::vector<std::string>& scripts) {
    PipelineSpec spec{.commands = {}, .timeout = timeout};
    for (const std::string& script : scripts) spec.commands.push_back({"/bin/sh", "-c", script});
    return processes.run_pipeline(spec);
  }

  Signals signals;
  PosixProcesses processes{signals};
  milliseconds timeout{60'000};
};

bool has_children() { return waitpid(-1, nullptr, WNOHANG) != -1 || errno != ECHILD; }

TEST_F(PipelineTest, EachReadsWhatTheOneBeforeWrites) {
  const auto results = run({"echo one two", "tr ' ' '\\n'", "sort -r"});

  ASSERT_EQ(results.size(), 3U);
  EXPECT_EQ(results[2].out, "two\none\n");
  EXPECT_EQ(results[0].out, "");
  EXPECT_EQ(first_failure(results), nullptr);
}

TEST_F(PipelineTest, MovesMoreThanAPipeHolds) {
  EXPECT_EQ(run({"head -c 3000000 /dev/zero", "wc -c"}).back().out, "3000000\n");
}

TEST_F(PipelineTest, ReadsNothingUnlessToldTo) {
  EXPECT_EQ(run({"cat | wc -c"}).front().out, "0\n");
}

TEST_F(PipelineTest, KnowsEveryExitAndWhatEachSaid) {
  const auto results = run({"echo a >&2; exit 3", "cat; echo b >&2; exit 4"});

  EXPECT_EQ(results[0].exit, 3);
  EXPECT_EQ(results[0].err, "a\n");
  EXPECT_EQ(results[1].exit, 4);
  EXPECT_EQ(results[1].err, "b\n");
  EXPECT_EQ(first_failure(results), &results[0]);
}

TEST_F(PipelineTest, WhoDiesOfTheOtherIsNotToBlame) {
  const auto results = run({"exec yes", "head -c 1 >/dev/null; exit 5"});

  EXPECT_EQ(results[0].signal, SIGPIPE);
  EXPECT_EQ(first_failure(results), &results[1]);
}

TEST_F(PipelineTest, AloneADeathByAClosedPipeCounts) {
  const auto results = run({"kill -PIPE $$", "exit 0"});

  EXPECT_EQ(first_failure(results), &results[0]);
}

TEST_F(PipelineTest, AProgramThatIsMissingEndsTheOthers) {
  const auto results = processes.run_pipeline({.commands = {{"sleep", "60"}, {"no-such-program"}}});

  ASSERT_EQ(results.size(), 2U);
  EXPECT_EQ(results[1].spawn_errno, ENOENT);
  EXPECT_EQ(results[0].signal, SIGTERM);
  EXPECT_FALSE(has_children());
}

TEST_F(PipelineTest, EndsAllWhenTheTimeIsUp) {
  timeout = milliseconds{50};

  const auto results = run({"exec sleep 60", "exec sleep 60"});

  EXPECT_TRUE(results[0].timed_out);
  EXPECT_TRUE(results[1].timed_out);
  EXPECT_FALSE(has_children());
}

TEST_F(PipelineTest, EndsAllWhenASignalArrives) {
  for (const char* const script :
       {"kill -TERM $PPID; exec sleep 60", "trap '' TERM; kill -TERM $PPID; exec sleep 60"}) {
    try {
      run({script, "exec cat"});
      FAIL() << "not interrupted";
    } catch (const Error& error) {
      EXPECT_EQ(error.id(), "interrupted");
    }
    EXPECT_FALSE(has_children());
  }
}

TEST_F(PipelineTest, KeepsNoMoreThanTheLimit) {
  const auto results = processes.run_pipeline(
      {.commands = {{"/bin/sh", "-c", "head -c 100000 /dev/zero"}}, .output_bytes_max = 10});

  EXPECT_EQ(results[0].out.size(), 10U);
  EXPECT_TRUE(results[0].is_success());
}

}  // namespace
}  // namespace sparkrun::sys
