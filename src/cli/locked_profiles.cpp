// SPDX-License-Identifier: MIT
#include "cli/locked_profiles.hpp"

#include "lock/store.hpp"
#include "profile/store.hpp"

#include <fmt/format.h>

namespace sparkrun::cli {

std::vector<std::string> chosen_profiles(const std::vector<std::string>& names,
                                         const profile::Store& store, std::string_view command) {
  if (!names.empty()) return names;
  std::vector<std::string> all;
  for (const profile::ListedProfile& listed : store.list()) {
    if (listed.origin == profile::Origin::project) all.push_back(listed.name);
  }
  if (all.empty()) {
    throw Error{"usage.missing_argument",
                fmt::format("this project has no profiles; name the ones to {}",
                            command == "lock" ? "lock" : "look at"),
                {{"command", std::string{command}}}};
  }
  return all;
}

std::vector<lock::LockedProfile> locked_profiles(const std::vector<std::string>& names,
                                                 std::string_view command, Context& context) {
  const profile::Project project =
      profile::find_project(context.system.environment, context.directory);
  const profile::Store store{project, context.system.environment};
  std::vector<lock::LockedProfile> locks;
  std::vector<std::string> missing;
  for (const std::string& name : chosen_profiles(names, store, command)) {
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
