// SPDX-License-Identifier: MIT
#pragma once

#include "plan/run_plan.hpp"

#include <string>
#include <string_view>

namespace sparkrun::plan {

// The one place where `~` and `${VAR}` expand: sources of mounts, and env files.
struct ExpandedPath {
  std::string path;     // absolute and without `.`; empty when there is a problem
  std::string problem;  // `${SCRATCH}` is not set
};
ExpandedPath expand_path(std::string_view written, const fs::path& base, const PlanFacts& facts);

}  // namespace sparkrun::plan
