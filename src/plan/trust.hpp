// SPDX-License-Identifier: MIT
#pragma once

#include "plan/run_plan.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sparkrun::plan {

// One of the things that a profile from a project folder gets only when its user allows it.
struct TrustName {
  std::string_view name;
  std::string_view meaning;  // one line, for `explain trust`
};

// The closed list, sorted by name.
std::span<const TrustName> trust_names();
bool is_trust_name(std::string_view text);

struct TrustNeed {
  std::string name;   // of trust_names()
  std::string where;  // `container.pid`, `container.extra_args`, `mount`, `env_from_host`
  std::string value;  // what is asked for: `host`, `/var/run/docker.sock`, `HF_TOKEN`
};

// What the plan's profile asks for, where it comes from a project. Of any other profile only the
// relative paths that links of the project lead out of it. What the caller added
// on the command line is the caller's own wish. Sources of mounts are judged with their symbolic
// links resolved.
std::vector<TrustNeed> trust_needs(const RunPlan& plan, const PlanFacts& facts);

// `allowed`: names, or `NAME:VALUE` for one value only (`host-env:HF_TOKEN`). Throws
// `trust.not_allowed` with one problem for each need that is left.
void require_trust(const std::vector<TrustNeed>& needs, const std::vector<std::string>& allowed);

}  // namespace sparkrun::plan
