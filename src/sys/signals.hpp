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

}  // namespace sparkrun::sys
