// SPDX-License-Identifier: MIT
#pragma once

#include "support/fake_clock.hpp"
#include "support/fake_http.hpp"
#include "support/fake_processes.hpp"
#include "support/fake_terminal.hpp"
#include "support/temp_dir.hpp"
#include "sys/system.hpp"

#include <cstdlib>
#include <string>
#include <unistd.h>

namespace sparkrun::test {

// A world of fakes below one temporary folder: home/, config/, state/, cache/, and work/ to be in.
// Of the real environment only PATH is kept, so neither CI nor DOCKER_HOST of the machine reaches a
// test.
struct TestSystem {
  TempDir folder;
  FakeHttp http;
  FakeProcesses processes;
  FakeClock clock;
  FakeTerminal terminal;
  sys::System system{http, processes, clock, terminal, make_environment()};

  [[nodiscard]] fs::path work() const { return folder / "work"; }
  [[nodiscard]] fs::path home() const { return folder / "home"; }

  void set(const std::string& name, const std::string& value) {
    system.environment.variables[name] = value;
  }

 private:
  [[nodiscard]] sys::Environment make_environment() const {
    const char* const path = std::getenv("PATH");
    sys::Environment environment{
        .working_directory = folder.make("work"), .uid = getuid(), .gid = getgid()};
    environment.variables = {{"PATH", path != nullptr ? path : "/usr/bin:/bin"},
                             {"HOME", folder.make("home").string()},
                             {"XDG_CONFIG_HOME", folder.make("config").string()},
                             {"XDG_STATE_HOME", folder.make("state").string()},
                             {"XDG_CACHE_HOME", folder.make("cache").string()}};
    return environment;
  }
};

}  // namespace sparkrun::test
