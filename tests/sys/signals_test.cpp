// SPDX-License-Identifier: MIT
#include "sys/signals.hpp"

#include "base/error.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <unistd.h>

namespace sparkrun::sys {
namespace {

TEST(Signals, ArriveAsData) {
  Signals signals;
  EXPECT_FALSE(signals.take());

  kill(getpid(), SIGTERM);
  const auto signal = signals.take();

  ASSERT_TRUE(signal);
  EXPECT_EQ(signal->number, SIGTERM);
  EXPECT_FALSE(signal->from_terminal);
  EXPECT_FALSE(signals.take());
}

TEST(Signals, AreTheFourThatEndAProgram) {
  Signals signals;
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    kill(getpid(), number);
    const auto signal = signals.take();
    ASSERT_TRUE(signal) << number;
    EXPECT_EQ(signal->number, number);
  }
}

TEST(Signals, LeaveAloneWhatTheParentIgnores) {
  struct sigaction before {};
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGHUP, &ignore, &before);
  sigset_t hangup, mask;
  sigemptyset(&hangup);
  sigaddset(&hangup, SIGHUP);
  sigprocmask(SIG_UNBLOCK, &hangup, &mask);

  Signals signals;
  kill(getpid(), SIGHUP);
  const auto signal = signals.take();
  sigprocmask(SIG_SETMASK, &mask, nullptr);
  sigaction(SIGHUP, &before, nullptr);

  EXPECT_FALSE(signal);
}

TEST(Signals, ThrowInterrupted) {
  Signals signals;
  EXPECT_NO_THROW(signals.throw_if_any());

  kill(getpid(), SIGINT);
  try {
    signals.throw_if_any();
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.id(), "interrupted");
    EXPECT_STREQ(error.what(), "interrupted by SIGINT");
  }
}

TEST(Signals, MakeAClosedPipeAnErrorNotADeath) {
  const Signals signals;
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  close(ends[0]);

  EXPECT_EQ(write(ends[1], "x", 1), -1);
  EXPECT_EQ(errno, EPIPE);
  close(ends[1]);
}

TEST(SignalName, IsWhatPeopleWrite) {
  EXPECT_EQ(signal_name(SIGTERM), "SIGTERM");
  EXPECT_EQ(signal_name(SIGINT), "SIGINT");
  EXPECT_EQ(signal_name(99), "signal 99");
}

}  // namespace
}  // namespace sparkrun::sys
