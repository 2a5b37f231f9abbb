// SPDX-License-Identifier: MIT
#pragma once

#include "profile/options.hpp"
#include "profile/section.hpp"

#include <string>
#include <vector>

namespace sparkrun::profile {

struct ContainerFlags {
  std::vector<OptionValue> options;  // in the order of options()
  std::vector<std::string> extra_args;
};

// Reads [container]: one key per row of options(), and `extra_args`.
ContainerFlags read_container(const TomlNode& table, Faults& faults);

}  // namespace sparkrun::profile
