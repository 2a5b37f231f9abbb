// SPDX-License-Identifier: MIT
#pragma once

#include "plan/run_plan.hpp"

#include <string>
#include <vector>

namespace sparkrun::plan {

// Combinations that the engine accepts and that do not do what they seem to; one line each. They
// warn and never refuse. Asks the file system only through `facts`.
std::vector<std::string> lints(const RunPlan& plan, const PlanFacts& facts);

}  // namespace sparkrun::plan
