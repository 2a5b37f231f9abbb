// SPDX-License-Identifier: MIT
#pragma once

#include "plan/missing.hpp"
#include "plan/run_plan.hpp"

namespace sparkrun::plan {

// What the job's environment gets: values of the profile, then of the command line; variables of
// the host and values from files by name only. What is required and not there goes to `missing`.
void add_variables(RunPlan& plan, const RunOptions& options, const PlanFacts& facts,
                   Missing& missing);

}  // namespace sparkrun::plan
