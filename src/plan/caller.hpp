// SPDX-License-Identifier: MIT
#pragma once

#include "plan/run_plan.hpp"

namespace sparkrun::plan {

// `user = "caller"`: the job runs as whoever called, so that its files are theirs. The image does
// not know that user, so HOME, USER, LOGNAME and the caches of Hugging Face, Triton and
// torch.compile are set to what works without an entry in /etc/passwd; what the profile sets stays.
// A rootless engine maps the caller already: docker to the container's root, podman with
// --userns=keep-id.
void become_caller(RunPlan& plan, const PlanFacts& facts);

}  // namespace sparkrun::plan
