// SPDX-License-Identifier: MIT
#pragma once

#include "cli/command.hpp"

#include <string>

namespace sparkrun::cli {

// All are made of the command tables, so they cannot tell of an option that does not exist.
std::string top_help();
std::string group_help(std::string_view first_word);  // `audit`: its commands
std::string command_help(const Command& command);
std::string man_page();  // roff, section 1

// `sparkrun lock [PROFILE...] [options]`.
std::string usage_line(const Command& command);

}  // namespace sparkrun::cli
