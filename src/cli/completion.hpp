// SPDX-License-Identifier: MIT
#pragma once

#include "cli/command.hpp"

#include <string>
#include <vector>

namespace sparkrun::cli {

// What the last of `words` can become, given those before it; sorted. Made of the command tables,
// and of the profiles and runs that there are. Never throws for something that cannot be read: it
// then offers less.
std::vector<std::string> complete(const std::vector<std::string>& words, const Context& context);

}  // namespace sparkrun::cli
