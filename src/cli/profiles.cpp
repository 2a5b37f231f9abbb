// SPDX-License-Identifier: MIT
#include "cli/profiles.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "sys/files.hpp"

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

sys::fs::path write_profile(const profile::Project& project, const std::string& name,
                            const std::string& text, bool is_forced) {
  const sys::fs::path path = project.root / "profiles" / (name + ".toml");
  if (!is_forced && sys::is_taken(path)) {
    throw Error{"profile.exists", fmt::format("{} is there already", path.string())};
  }
  sys::make_directories(path.parent_path(), 0755);
  sys::write_file_atomically(path, text);
  return path;
}

void require_profile_name(const std::string& name, std::string_view command) {
  if (profile::is_profile_name(name)) return;
  throw Error{"usage.bad_value",
              fmt::format("`{}` is not a profile name: a-z, 0-9, - and _, at most 63, a letter or "
                          "digit first",
                          printable(name)),
              {{"command", std::string{command}}}};
}

}  // namespace sparkrun::cli
