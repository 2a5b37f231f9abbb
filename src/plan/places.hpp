// SPDX-License-Identifier: MIT
#pragma once

#include "plan/run_plan.hpp"

#include <string_view>

namespace sparkrun::plan {

// The trust that reaching a place of the host asks for, of trust_names(); empty: none. `path` is
// plain_path() of an absolute one, links resolved or not: both are worth asking for.
std::string_view risk_of_place(const fs::path& path, const PlanFacts& facts);

// Without `.`, `..` and a slash at the end, which would be a component of its own.
fs::path plain_path(const fs::path& path);

// `path` is `folder` or lies below it.
bool is_within(const fs::path& path, const fs::path& folder);

}  // namespace sparkrun::plan
