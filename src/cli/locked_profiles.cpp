// SPDX-License-Identifier: MIT
#include "cli/locked_profiles.hpp"

#include "base/error.hpp"
#include "lock/store.hpp"

#include <fmt/format.h>

namespace sparkrun::cli {

lock::LockedProfile locked_profile(const std::string& name, const profile::Store& store) {
  const profile::Profile profile = store.load(name);
  const auto path = store.lock_path(profile);
  if (const auto stored = path ? lock::find_lock(profile, *path) : std::nullopt) {
    return {name, stored->lock};
  }
  throw Error{"lock.missing", fmt::format("profile `{}` has no lock", name), {{"profile", name}}};
}

}  // namespace sparkrun::cli
