// SPDX-License-Identifier: MIT
#pragma once

#include "lock/drift.hpp"
#include "profile/store.hpp"

#include <string>
#include <vector>

namespace sparkrun::cli {

// The lock of a profile. Throws `lock.missing` where it has none, and what reading them throws.
lock::LockedProfile locked_profile(const std::string& name, const profile::Store& store);

}  // namespace sparkrun::cli
