// SPDX-License-Identifier: MIT
#include "sys/signals.hpp"

#include "base/error.hpp"

#include <cstring>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace sparkrun::sys {

std::string signal_name(int number) {
  const char* const name = sigabbrev_np(number);
  return name != nullptr ? std::string{"SIG"} + name : "signal " + std::to_string(number);
}

Signals::Signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    struct sigaction current {};
    sigaction(number, nullptr, &current);
    // What the parent ignores (`nohup`, `&` in a script) stays ignored.
    if (current.sa_handler != SIG_IGN) sigaddset(&set, number);
  }
  sigprocmask(SIG_BLOCK, &set, nullptr);
  signal(SIGPIPE, SIG_IGN);
  fd_ = FileDescriptor{signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK)};
  if (!fd_.is_open()) throw Error{"bug", "the kernel gave no signalfd"};
}

std::optional<Signal> Signals::take() {
  signalfd_siginfo info{};
  if (read(fd_.get(), &info, sizeof info) != static_cast<ssize_t>(sizeof info)) return std::nullopt;
  return Signal{.number = static_cast<int>(info.ssi_signo),
                .from_terminal = info.ssi_code == SI_KERNEL};
}

void Signals::throw_if_any() {
  if (const auto signal = take()) {
    throw Error{"interrupted", "interrupted by " + signal_name(signal->number)};
  }
}

}  // namespace sparkrun::sys
