// SPDX-License-Identifier: MIT
#pragma once

#include "plan/run_plan.hpp"
#include "profile/store.hpp"
#include "sys/system.hpp"

#include <string>
#include <vector>

namespace sparkrun::run {

// What a profile says, for the project that it is in: the image as written, neither lock nor engine
// nor network, and nothing of this host's state: sources of mounts count as there, and variables
// that are passed as set. For showing and checking profiles.
plan::RunPlan written_plan(const profile::Profile& profile, const profile::Project& project,
                           const sys::System& system);

// What runs of that plan would say each time: what misleads, and what trust they will ask for.
std::vector<std::string> written_warnings(const profile::Profile& profile,
                                          const profile::Project& project,
                                          const sys::System& system);

}  // namespace sparkrun::run
