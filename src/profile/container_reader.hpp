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

// What is wrong with words that are to go to the engine as they are; empty: nothing. A bare word
// among them would be taken for the image, and some options are sparkrun's to give.
std::vector<std::string> faults_of_words(const std::vector<std::string>& words);

// Reads [container]: one key per row of options(), and `extra_args`.
ContainerFlags read_container(const TomlNode& table, Faults& faults);

}  // namespace sparkrun::profile
