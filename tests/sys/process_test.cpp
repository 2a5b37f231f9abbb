// SPDX-License-Identifier: MIT
#include "sys/process.hpp"

#include "base/error.hpp"
#include "base/text.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <functional>
#include <sys/wait.h>
#include <unistd.h>

namespace sparkrun::sys {
namespace {

using std::chrono::milliseconds;

class ProcessTest : public testing::Test {
 protected:
  ProcessResult run(ProcessSpec spec) { return processes.run(spec); }
  ProcessResult shell(const std::string& script) {
    return processes.run({.argv = {"/bin/sh", "-c", script}});
  }

  Signals signals;
  PosixProcesses processes{signals};
};

bool has_children() { return waitpid(-1, nullptr, WNOHANG) != -1 || errno != ECHILD; }

TEST_F(ProcessTest, CapturesBothStreamsAndTheExit) {
  const ProcessResult result = shell("echo out; echo err >&2; exit 3");

  EXPECT_EQ(result.out, "out\n");
  EXPECT_EQ(result.err, "err\n");
  EXPECT_EQ(result.exit, 3);
  EXPECT_EQ(result.signal, 0);
  EXPECT_FALSE(result.timed_out);
  EXPECT_FALSE(result.is_success());
}

TEST_F(ProcessTest, SaysWhichSignalKilled) {
  for (const int number : {SIGTERM, SIGPIPE, SIGKILL, SIGINT}) {
    const ProcessResult result = shell("kill -" + std::to_string(number) + " $$; exit 0");

    // Neither our blocked signals nor our ignored SIGPIPE are inherited.
    EXPECT_EQ(result.signal, number);
    EXPECT_EQ(result.exit, 128 + number);
  }
}

TEST_F(ProcessTest, FindsTheProgramOnThePath) { EXPECT_TRUE(run({.argv = {"true"}}).is_success()); }

TEST_F(ProcessTest, PassesWordsAsTheyAre) {
  EXPECT_EQ(run({.argv = {"printf", "%s|", "a b", "", "$HOME", "*"}}).out, "a b||$HOME|*|");
}

TEST_F(ProcessTest, GivesTheInput) {
  EXPECT_EQ(run({.argv = {"cat"}, .input = "line\n"}).out, "line\n");
  EXPECT_EQ(run({.argv = {"cat"}, .input = ""}).out, "");
}

TEST_F(ProcessTest, GivesAnEmptyInputByDefault) {
  EXPECT_EQ(run({.argv = {"cat"}, .timeout = milliseconds{10'000}}).exit, 0);
}

TEST_F(ProcessTest, EndsAtItsTimeout) {
  const ProcessResult result = run({.argv = {"sleep", "60"}, .timeout = milliseconds{50}});

  EXPECT_TRUE(result.timed_out);
  EXPECT_EQ(result.signal, SIGTERM);
  EXPECT_FALSE(result.is_success());
  EXPECT_FALSE(has_children());
}

TEST_F(ProcessTest, KillsWhatIgnoresSigterm) {
  const ProcessResult result =
      run({.argv = {"/bin/sh", "-c", "trap '' TERM; echo ready; while :; do sleep 60; done"},
           .timeout = milliseconds{300}});

  EXPECT_TRUE(result.timed_out);
  EXPECT_EQ(result.signal, SIGKILL);
  EXPECT_FALSE(has_children());
}

TEST_F(ProcessTest, KeepsWhatCameBeforeTheTimeout) {
  const ProcessResult result =
      run({.argv = {"/bin/sh", "-c", "echo begun; exec sleep 60"}, .timeout = milliseconds{300}});

  EXPECT_TRUE(result.timed_out);
  EXPECT_EQ(result.out, "begun\n");
}

TEST_F(ProcessTest, DropsOutputBeyondItsLimit) {
  const ProcessResult result =
      run({.argv = {"/bin/sh", "-c", "head -c 300000 /dev/zero; echo err >&2"},
           .output_bytes_max = 1000});

  EXPECT_EQ(result.out.size(), 1000U);
  EXPECT_EQ(result.err, "err\n");
  EXPECT_TRUE(result.is_success());
}

TEST_F(ProcessTest, SaysWhyItNeverStarted) {
  const ProcessResult absent = run({.argv = {"sparkrun-no-such-program"}});
  const ProcessResult not_executable = run({.argv = {"/etc/passwd"}});

  EXPECT_EQ(absent.spawn_errno, ENOENT);
  EXPECT_EQ(absent.exit, 127);
  EXPECT_FALSE(absent.is_success());
  EXPECT_EQ(not_executable.spawn_errno, EACCES);
}

TEST_F(ProcessTest, ReadsBothStreamsWhileTheyAreLarge) {
  const ProcessResult result = shell(
      "head -c 3000000 /dev/zero >&2; head -c 3000000 /dev/zero; head -c 1000000 /dev/zero >&2");

  EXPECT_EQ(result.out.size(), 3'000'000U);
  EXPECT_EQ(result.err.size(), 4'000'000U);
}

TEST_F(ProcessTest, ReadsWhileItWrites) {
  std::string input;
  for (int i = 0; i < 300'000; ++i) input += static_cast<char>('a' + i % 26);

  EXPECT_TRUE(run({.argv = {"cat"}, .input = input}).out == input);
}

TEST_F(ProcessTest, IsFineWhenTheInputIsNotRead) {
  EXPECT_TRUE(run({.argv = {"true"}, .input = std::string(1'000'000, 'x')}).is_success());
}

TEST_F(ProcessTest, AddsToTheEnvironmentAndReplaces) {
  const std::string out =
      run({.argv = {"env"}, .environment = {{"PATH", "/nowhere"}, {"SPARKRUN_X", "a=b"}}}).out;
  const auto lines = split(out, '\n');

  EXPECT_EQ(std::ranges::count(lines, "PATH=/nowhere"), 1);
  EXPECT_EQ(std::ranges::count(lines, "SPARKRUN_X=a=b"), 1);
  EXPECT_EQ(
      std::ranges::count_if(lines, [](std::string_view line) { return line.starts_with("PATH="); }),
      1);
}

TEST_F(ProcessTest, KillsItsChildWhenASignalArrives) {
  kill(getpid(), SIGTERM);
  try {
    run({.argv = {"sleep", "60"}});
    FAIL() << "not interrupted";
  } catch (const Error& error) {
    EXPECT_EQ(error.id(), "interrupted");
    EXPECT_STREQ(error.what(), "interrupted by SIGTERM");
  }
  EXPECT_FALSE(has_children());
  EXPECT_FALSE(signals.take());
}

TEST_F(ProcessTest, WaitsForAForegroundProcess) {
  const auto process = processes.start({.argv = {"/bin/sh", "-c", "exit 7"}});

  const ProcessEvent event = process->wait(std::nullopt);

  EXPECT_EQ(event.kind, ProcessEvent::Kind::exited);
  EXPECT_EQ(event.exit, 7);
  EXPECT_EQ(event.exit_signal, 0);
}

TEST_F(ProcessTest, ReportsATimeoutAndSendsSignals) {
  const auto process = processes.start({.argv = {"sleep", "60"}});

  EXPECT_EQ(process->wait(milliseconds{1}).kind, ProcessEvent::Kind::timeout);
  process->send(SIGTERM);
  const ProcessEvent end = process->wait(milliseconds{10'000});

  EXPECT_EQ(end.kind, ProcessEvent::Kind::exited);
  EXPECT_EQ(end.exit, 128 + SIGTERM);
  EXPECT_EQ(end.exit_signal, SIGTERM);
}

TEST_F(ProcessTest, HandsOnASignalThatReachedUs) {
  const auto process = processes.start({.argv = {"sleep", "60"}});
  kill(getpid(), SIGHUP);

  const ProcessEvent event = process->wait(std::nullopt);
  process->send(SIGKILL);
  const ProcessEvent end = process->wait(std::nullopt);

  EXPECT_EQ(event.kind, ProcessEvent::Kind::signal);
  EXPECT_EQ(event.signal.number, SIGHUP);
  EXPECT_FALSE(event.signal.from_terminal);
  EXPECT_EQ(end.exit_signal, SIGKILL);
}

TEST_F(ProcessTest, DoesNotTakeAnotherChildWhenWaitedForAgain) {
  const auto first = processes.start({.argv = {"true"}});
  first->wait(std::nullopt);
  const auto second = processes.start({.argv = {"/bin/sh", "-c", "exit 5"}});

  first->wait(std::nullopt);
  first->send(SIGKILL);

  EXPECT_EQ(second->wait(std::nullopt).exit, 5);
}

// What `act` does is done by a process of its own, with signals as it started with them.
pid_t in_a_process(const std::function<int()>& act) {
  const pid_t pid = fork();
  if (pid == 0) _exit(act());
  return pid;
}

TEST_F(ProcessTest, StopsAndGoesOnWithWhatRunsInOurPlace) {
  const pid_t pid = in_a_process([this] {
    const auto process = processes.start(
        {.argv = {"/bin/sh", "-c", "kill -STOP $$; exit 3"}, .is_in_our_place = true});
    while (true) {
      const ProcessEvent event = process->wait(std::nullopt);
      if (event.kind == ProcessEvent::Kind::exited) return event.exit;
      if (event.kind == ProcessEvent::Kind::signal) process->send(event.signal.number);
    }
  });

  int status = 0;
  waitpid(pid, &status, WUNTRACED);
  EXPECT_TRUE(WIFSTOPPED(status));
  kill(pid, SIGCONT);
  waitpid(pid, &status, 0);

  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 3);
}

TEST_F(ProcessTest, TakesWhatRunsInFrontAlongWhenItIsKilled) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t pid = in_a_process([&] {
    close(ends[0]);
    const auto process = processes.start({.argv = {"sleep", "600"}});
    kill(getpid(), SIGKILL);
    return 0;
  });
  close(ends[1]);

  char byte = 0;
  EXPECT_EQ(read(ends[0], &byte, 1), 0) << "whoever held the other end is gone";

  close(ends[0]);
  waitpid(pid, nullptr, 0);
}

TEST_F(ProcessTest, KnowsHowAChildEndedWhereTheParentIgnoresThat) {
  const pid_t pid = in_a_process([] {
    signal(SIGCHLD, SIG_IGN);
    Signals own;
    return PosixProcesses{own}
        .start({.argv = {"/bin/sh", "-c", "exit 7"}})
        ->wait(std::nullopt)
        .exit;
  });

  int status = 0;
  waitpid(pid, &status, 0);

  EXPECT_EQ(WEXITSTATUS(status), 7);
}

TEST_F(ProcessTest, SaysThatAForegroundProgramIsMissing) {
  try {
    const auto process = processes.start({.argv = {"sparkrun-no-such-program"}});
    FAIL() << "started";
  } catch (const Error& error) {
    EXPECT_EQ(error.id(), "engine.missing");
    EXPECT_STREQ(error.what(),
                 "cannot start `sparkrun-no-such-program`: No such file or directory");
  }
}

}  // namespace
}  // namespace sparkrun::sys
