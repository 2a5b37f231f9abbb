// SPDX-License-Identifier: MIT
#pragma once

#include "cli/arguments.hpp"
#include "run/prepare.hpp"

namespace sparkrun::cli {

// What the words of `sparkrun run` ask for; the profile is looked up by the caller. Paths are those
// of the place where the line was typed. Throws `usage.bad_value`.
run::Request to_request(const Arguments& arguments, const sys::Environment& environment);

}  // namespace sparkrun::cli
