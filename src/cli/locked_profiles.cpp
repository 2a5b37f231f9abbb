// SPDX-License-Identifier: MIT
#include "cli/locked_profiles.hpp"

#include "base/error.hpp"
#include "lock/store.hpp"

#include <fmt/format.h>

namespace sparkrun::cli {
namespace {

lock::StoredLock stored_lock(const profile::Profile& profile, const profile::Store& store) {
  const auto path = store.lock_path(profile);
  if (const auto stored = path ? lock::find_lock(profile, *path) : std::nullopt) return *stored;
  throw Error{"lock.missing",
              fmt::format("profile `{}` has no lock", profile.name),
              {{"profile", profile.name}}};
}

}  // namespace

lock::LockedProfile locked_profile(const std::string& name, const profile::Store& store) {
  return {name, stored_lock(store.load(name), store).lock};
}

lock::LockedProfile current_locked_profile(const std::string& name, const profile::Store& store) {
  const profile::Profile profile = store.load(name);
  const lock::StoredLock stored = stored_lock(profile, store);
  lock::refuse_if_stale(stored, profile);
  return {name, stored.lock};
}

}  // namespace sparkrun::cli
