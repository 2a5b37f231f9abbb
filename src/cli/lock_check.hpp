// SPDX-License-Identifier: MIT
#pragma once

#include "cli/command.hpp"
#include "lock/store.hpp"
#include "profile/profile.hpp"

#include <optional>
#include <string>
#include <vector>

namespace sparkrun::cli {

// A profile with its lockfile's place and what stands there. One that cannot be read, or whose lock
// cannot, keeps no other from being locked or checked.
struct LockTarget {
  std::string name;
  std::optional<profile::Profile> profile;
  std::filesystem::path path;
  std::optional<lock::StoredLock> stored;
  std::filesystem::path adopted_as;  // where a built-in profile is copied to; empty: it is not
  std::optional<Error> error;
};

// `lock --check`: prints the state of every lock and gives the worst code. `is_remote`: the
// registries are asked for the locked digests, too.
ExitCode check_locks(const std::vector<LockTarget>& targets, bool is_remote, Context& context);

}  // namespace sparkrun::cli
