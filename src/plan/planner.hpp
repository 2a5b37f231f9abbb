// SPDX-License-Identifier: MIT
#pragma once

#include "plan/run_plan.hpp"

namespace sparkrun::plan {

// Profile, pin, GPU and wishes, made one. Creates nothing and starts nothing; asks the file system
// only through `facts`. Options that are flags or have one value replace the profile's (a flag with
// the value `false` takes it away); lists and tables add to it. Throws `mount.missing` or
// `env.missing` with *all* mounts and variables that are missing.
RunPlan make_plan(const profile::Profile& profile, PinnedImage image, GpuChoice gpu,
                  const RunOptions& options, const PlanFacts& facts);

}  // namespace sparkrun::plan
