// SPDX-License-Identifier: MIT
#pragma once

#include "preflight/check.hpp"

#include <string>
#include <utility>
#include <vector>

namespace sparkrun::preflight {

struct Report {
  std::vector<std::pair<const Check*, CheckResult>> results;  // in the order of checks()
  std::string verdict;                                        // blocked, ready-with-warnings, ready

  [[nodiscard]] bool is_blocked() const { return verdict == "blocked"; }
};

// A failed check that blocks: `blocked`. Any other fail or warn: `ready-with-warnings`. Else
// `ready`.
std::string verdict_of(const std::vector<std::pair<const Check*, CheckResult>>& results);

// All checks, or those whose ids are in `only`. A check that needs facts from inside the image is
// skipped, with the subject's reason, when there are none. Throws `usage.bad_value` for an id that
// does not exist.
Report judge(const Subject& subject, const std::vector<std::string>& only = {});

}  // namespace sparkrun::preflight
