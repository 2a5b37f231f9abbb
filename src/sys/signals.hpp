// SPDX-License-Identifier: MIT
#pragma once

#include "sys/files.hpp"

#include <optional>
#include <string>

namespace sparkrun::sys {

struct Signal {
  int number = 0;
  // Typed at the terminal: every process of the foreground group has had it already.
  bool from_terminal = false;
};

// `SIGTERM`.
std::string signal_name(int number);

// SIGINT, SIGTERM, SIGHUP and SIGQUIT as data: blocked for the whole process and read from a
// descriptor, so that every wait (HTTP, child process) can be interrupted and cleans up in the
// ordinary way. SIGPIPE is ignored; a closed pipe shows as EPIPE where it is written to.
class Signals {
 public:
  Signals();
  [[nodiscard]] int fd() const { return fd_.get(); }
  std::optional<Signal> take();
  // Throws `interrupted` when a signal has come.
  void throw_if_any();

 private:
  FileDescriptor fd_;
};

// What else reaches a program that runs another one in its place: SIGTSTP, SIGCONT, SIGUSR1 and
// SIGUSR2 as data, and SIGCHLD, which tells that the other one has stopped. For good: what comes
// after a job is its record, and none of them may end that.
class JobSignals {
 public:
  JobSignals();
  [[nodiscard]] int fd() const { return fd_.get(); }
  std::optional<Signal> take();

 private:
  FileDescriptor fd_;
};

}  // namespace sparkrun::sys
