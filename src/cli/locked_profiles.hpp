// SPDX-License-Identifier: MIT
#pragma once

#include "lock/drift.hpp"
#include "profile/store.hpp"

#include <string>
#include <vector>

namespace sparkrun::cli {

// The locks of these profiles. Throws one error for all that have none: `lock.missing`, naming
// each.
std::vector<lock::LockedProfile> locked_profiles(const std::vector<std::string>& names,
                                                 const profile::Store& store);

}  // namespace sparkrun::cli
