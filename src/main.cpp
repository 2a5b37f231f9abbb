// SPDX-License-Identifier: MIT
#include "cli/app.hpp"
#include "sys/curl_http.hpp"
#include "sys/signals.hpp"

#include <cstdio>
#include <exception>
#include <fcntl.h>
#include <string>
#include <unistd.h>
#include <vector>

namespace {

// A descriptor below 3 that the caller closed would be given to the first file or socket that is
// opened, and a child would take that for its standard stream.
void fill_closed_streams() {
  int fd = 0;
  while (fd >= 0 && fd <= STDERR_FILENO) fd = open("/dev/null", O_RDWR);
  if (fd >= 0) close(fd);
}

// Everything is written and closed. Saying goodbye to registries and tearing OpenSSL down takes a
// tenth of the time of a short command, and the kernel does it for nothing. A build with checks
// looks for leaks instead.
void leave_quickly([[maybe_unused]] int code) {
#ifdef NDEBUG
  std::fflush(nullptr);
  _exit(code);
#endif
}

}  // namespace

int main(int argc, char** argv) {
  fill_closed_streams();
  try {
    sparkrun::sys::Environment environment = sparkrun::sys::Environment::of_this_process();
    sparkrun::sys::Signals signals;
    sparkrun::sys::CurlHttp http{signals, "sparkrun/" SPARKRUN_VERSION};
    sparkrun::sys::PosixProcesses processes{signals};
    sparkrun::sys::SystemClock clock;
    sparkrun::sys::StandardTerminal terminal{signals};
    sparkrun::sys::System system{http, processes, clock, terminal, std::move(environment)};
    const std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
    const int code = sparkrun::cli::run(system, words);
    leave_quickly(code);
    return code;
  } catch (const std::exception& exception) {
    std::fprintf(stderr, "error: %s\n", exception.what());
    return 70;
  }
}
