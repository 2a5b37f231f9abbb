// SPDX-License-Identifier: MIT
#pragma once

#include "sys/system.hpp"

#include <span>
#include <string>

namespace sparkrun::cli {

// The whole program: finds the command, runs it, renders what it throws. Returns the exit code.
// `words` is argv without the program's name.
int run(sys::System& system, std::span<const std::string> words);

}  // namespace sparkrun::cli
