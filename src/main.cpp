// SPDX-License-Identifier: MIT
#include "cli/app.hpp"
#include "sys/curl_http.hpp"
#include "sys/signals.hpp"

#include <cstdio>
#include <exception>
#include <string>
#include <vector>

int main(int argc, char** argv) {
  try {
    sparkrun::sys::Environment environment = sparkrun::sys::Environment::of_this_process();
    sparkrun::sys::Signals signals;
    sparkrun::sys::CurlHttp http{signals,
                                 {.user_agent = "sparkrun/" SPARKRUN_VERSION,
                                  .ca_file = environment.get_or("SSL_CERT_FILE", "")}};
    sparkrun::sys::PosixProcesses processes{signals};
    sparkrun::sys::SystemClock clock;
    sparkrun::sys::StandardTerminal terminal{signals};
    sparkrun::sys::System system{http, processes, clock, terminal, std::move(environment)};
    const std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
    return sparkrun::cli::run(system, words);
  } catch (const std::exception& exception) {
    std::fprintf(stderr, "error: %s\n", exception.what());
    return 70;
  }
}
