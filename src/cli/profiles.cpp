// SPDX-License-Identifier: MIT
#include "cli/profiles.hpp"

#include "base/error.hpp"

#include <fmt/format.h>

namespace sparkrun::cli {

std::vector<std::string> chosen_profiles(const Arguments& arguments, const profile::Store& store,
                                         std::string_view command, std::string_view purpose) {
  std::vector<std::string> names = arguments.values("PROFILE");
  if (!names.empty()) return names;
  for (const profile::ListedProfile& listed : store.list()) {
    if (listed.origin == profile::Origin::project) names.push_back(listed.name);
  }
  if (names.empty()) {
    throw Error{"usage.missing_argument",
                fmt::format("this project has no profiles; name the ones {}", purpose),
                {{"command", std::string{command}}}};
  }
  return names;
}

}  // namespace sparkrun::cli
