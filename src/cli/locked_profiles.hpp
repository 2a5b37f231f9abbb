// SPDX-License-Identifier: MIT
#pragma once

#include "lock/lockfile.hpp"
#include "profile/store.hpp"

#include <string>

namespace sparkrun::cli {

// The lock of a profile. Throws `lock.missing` where it has none, and what reading them throws.
lock::LockedProfile locked_profile(const std::string& name, const profile::Store& store);

// The same, for those who must not use one that was made for something else: also `lock.stale`.
lock::LockedProfile current_locked_profile(const std::string& name, const profile::Store& store);

}  // namespace sparkrun::cli
