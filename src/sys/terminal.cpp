// SPDX-License-Identifier: MIT
#include "sys/terminal.hpp"

#include "base/error.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <poll.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

namespace sparkrun::sys {
namespace {

bool is_null_or_closed(int fd) {
  struct stat status {};
  if (fstat(fd, &status) != 0) return true;
  constexpr unsigned null_major = 1, null_minor = 3;  // Linux devices.txt: /dev/null
  return S_ISCHR(status.st_mode) && major(status.st_rdev) == null_major &&
         minor(status.st_rdev) == null_minor;
}

// 0, or the errno.
int write_fully(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return 0;
}

}  // namespace

StandardTerminal::StandardTerminal(Signals& signals) : signals_(signals) {
  in_is_terminal = isatty(STDIN_FILENO) == 1;
  out_is_terminal = isatty(STDOUT_FILENO) == 1;
  err_is_terminal = isatty(STDERR_FILENO) == 1;
  in_is_usable = !is_null_or_closed(STDIN_FILENO);
}

void StandardTerminal::write_out(std::string_view text) {
  const int failure = write_fully(STDOUT_FILENO, text);
  if (failure != 0 && failure != EPIPE) {
    throw Error{"file.unwritable",
                std::string{"cannot write to standard output: "} + strerror(failure)};
  }
}

// Nothing can be said about a failure to say something.
void StandardTerminal::write_err(std::string_view text) { write_fully(STDERR_FILENO, text); }

std::string StandardTerminal::read_in(size_t bytes_max) {
  std::string content;
  std::array<char, 65536> buffer;
  std::array<pollfd, 2> watched = {
      {{.fd = STDIN_FILENO, .events = POLLIN}, {.fd = signals_.fd(), .events = POLLIN}}};
  while (content.size() <= bytes_max) {
    if (poll(watched.data(), watched.size(), -1) < 0) continue;
    if (watched[1].revents != 0) signals_.throw_if_any();
    if (watched[0].revents == 0) continue;
    const ssize_t got = read(STDIN_FILENO, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      throw Error{"file.unreadable", std::string{"cannot read standard input: "} + strerror(errno)};
    }
    if (got == 0) return content;
    content.append(buffer.data(), static_cast<size_t>(got));
  }
  throw Error{"file.unreadable",
              "standard input holds more than " + std::to_string(bytes_max) + " bytes"};
}

}  // namespace sparkrun::sys
