// SPDX-License-Identifier: MIT
#pragma once

#include "sys/clock.hpp"
#include "sys/environment.hpp"
#include "sys/http.hpp"
#include "sys/process.hpp"
#include "sys/terminal.hpp"

namespace sparkrun::sys {

// The world, built once in main and passed down: there are no globals and no singletons.
struct System {
  Http& http;
  Processes& processes;
  Clock& clock;
  Terminal& terminal;
  Environment environment;
};

}  // namespace sparkrun::sys
