// SPDX-License-Identifier: MIT
#pragma once

#include "run/prepare.hpp"
#include "sys/environment.hpp"

#include <string>
#include <vector>

namespace sparkrun::run {

// Which lints of a plan its user has not seen yet, and that they are seen now: each is shown once
// per project and profile. What cannot be remembered is shown again.
std::vector<std::string> take_new_lints(const Prepared& prepared,
                                        const sys::Environment& environment);

}  // namespace sparkrun::run
