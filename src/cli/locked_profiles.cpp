// SPDX-License-Identifier: MIT
#include "cli/locked_profiles.hpp"

#include "base/error.hpp"
#include "lock/store.hpp"

#include <fmt/format.h>

namespace sparkrun::cli {

std::vector<lock::LockedProfile> locked_profiles(const std::vector<std::string>& names,
                                                 const profile::Store& store) {
  std::vector<lock::LockedProfile> locks;
  std::vector<std::string> missing;
  for (const std::string& name : names) {
    const profile::Profile profile = store.load(name);
    const auto path = store.lock_path(profile);
    if (const auto stored = path ? lock::find_lock(profile, *path) : std::nullopt) {
      locks.push_back({name, stored->lock});
    } else {
      missing.push_back(name);
    }
  }
  if (!missing.empty()) {
    throw Error{"lock.missing",
                missing.size() == 1 ? fmt::format("profile `{}` has no lock", missing.front())
                                    : fmt::format("{} profiles have no lock: {}", missing.size(),
                                                  fmt::join(missing, ", ")),
                {{"profile", fmt::format("{}", fmt::join(missing, " "))}}};
  }
  return locks;
}

}  // namespace sparkrun::cli
