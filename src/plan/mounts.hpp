// SPDX-License-Identifier: MIT
#pragma once

#include "plan/missing.hpp"
#include "plan/run_plan.hpp"

#include <string>
#include <string_view>

namespace sparkrun::plan {

// Where --hf-cache puts the caller's Hugging Face cache: not below /root, which a job of another
// user may not enter.
constexpr std::string_view hf_cache_target = "/cache/huggingface";

// The mounts of the profile, then those of the command line, with absolute sources. What does not
// exist and is not to be created goes to `missing`; the sources of a remote engine are not looked
// for.
void add_mounts(RunPlan& plan, const RunOptions& options, const PlanFacts& facts, Missing& missing);

// A file of this host that the profile names, absolute. `what` (`env file`) begins the line that
// says why it cannot be had.
std::string existing_file(const std::string& written, const std::string& what,
                          const PlanFacts& facts, Missing& missing);

}  // namespace sparkrun::plan
