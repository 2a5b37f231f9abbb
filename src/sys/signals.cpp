// SPDX-License-Identifier: MIT
#include "sys/signals.hpp"

#include "base/error.hpp"

#include <cstring>
#include <initializer_list>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace sparkrun::sys {

namespace {

// From now on they are read from the descriptor.
FileDescriptor block(std::initializer_list<int> numbers) {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : numbers) {
    struct sigaction current {};
    sigaction(number, nullptr, &current);
    // What the parent ignores (`nohup`, `&` in a script) stays ignored.
    if (current.sa_handler != SIG_IGN) sigaddset(&set, number);
  }
  sigprocmask(SIG_BLOCK, &set, nullptr);
  FileDescriptor fd{signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK)};
  if (!fd.is_open()) throw Error{"bug", "the kernel gave no signalfd"};
  return fd;
}

std::optional<Signal> take_from(const FileDescriptor& fd) {
  signalfd_siginfo info{};
  if (read(fd.get(), &info, sizeof info) != static_cast<ssize_t>(sizeof info)) return std::nullopt;
  return Signal{.number = static_cast<int>(info.ssi_signo),
                .from_terminal = info.ssi_code == SI_KERNEL};
}

}  // namespace

std::string signal_name(int number) {
  const char* const name = sigabbrev_np(number);
  return name != nullptr ? std::string{"SIG"} + name : "signal " + std::to_string(number);
}

Signals::Signals() : fd_(block({SIGINT, SIGTERM, SIGHUP, SIGQUIT})) {
  signal(SIGPIPE, SIG_IGN);
  signal(SIGCHLD, SIG_DFL);  // where the parent ignores it, how a child ended would be lost
}

std::optional<Signal> Signals::take() { return take_from(fd_); }

void Signals::throw_if_any() {
  if (const auto signal = take()) {
    throw Error{"interrupted", "interrupted by " + signal_name(signal->number)};
  }
}

JobSignals::JobSignals() : fd_(block({SIGTSTP, SIGCONT, SIGUSR1, SIGUSR2, SIGCHLD})) {}

std::optional<Signal> JobSignals::take() { return take_from(fd_); }

}  // namespace sparkrun::sys
