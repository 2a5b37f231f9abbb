// SPDX-License-Identifier: MIT
#pragma once

#include "plan/run_plan.hpp"
#include "sys/environment.hpp"

#include <string>
#include <vector>

namespace sparkrun::run {

// The values that a plan passes on without naming them: of variables of the host, of
// [env_from_file] and of env files. For taking them out of what a container has printed; a file
// that cannot be read gives none.
std::vector<std::string> passed_values(const plan::RunPlan& plan,
                                       const sys::Environment& environment);

}  // namespace sparkrun::run
