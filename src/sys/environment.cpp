// SPDX-License-Identifier: MIT
#include "sys/environment.hpp"

#include "base/text.hpp"

#include <pwd.h>
#include <unistd.h>

namespace sparkrun::sys {
namespace {

fs::path xdg_directory(const Environment& environment, std::string_view variable,
                       std::string_view below_home) {
  const fs::path base{environment.get_or(variable, "")};
  return (base.is_absolute() ? base : environment.home() / below_home) / "sparkrun";
}

}  // namespace

Environment Environment::of_this_process() {
  Environment environment{.uid = getuid(), .gid = getgid()};
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const auto [name, value] = split_once(*entry, '=');
    environment.variables.emplace(name, value);
  }
  std::error_code failure;
  environment.working_directory = fs::current_path(failure);
  return environment;
}

std::optional<std::string> Environment::get(std::string_view name) const {
  const auto found = variables.find(name);
  return found == variables.end() ? std::nullopt : std::optional{found->second};
}

std::string Environment::get_or(std::string_view name, std::string_view fallback) const {
  return get(name).value_or(std::string{fallback});
}

std::optional<fs::path> Environment::find_program(std::string_view name) const {
  const std::string folders = get_or("PATH", "");
  for (const std::string_view folder : split(folders, ':')) {
    const fs::path path = fs::path{folder} / name;
    std::error_code failure;
    if (fs::is_regular_file(path, failure) && access(path.c_str(), X_OK) == 0) return path;
  }
  return std::nullopt;
}

fs::path Environment::home() const {
  const std::string home = get_or("HOME", "");
  if (!home.empty()) return home;
  const passwd* const entry = getpwuid(uid);
  return entry != nullptr ? entry->pw_dir : "/";
}

fs::path Environment::config_directory() const {
  return xdg_directory(*this, "XDG_CONFIG_HOME", ".config");
}
fs::path Environment::state_directory() const {
  return xdg_directory(*this, "XDG_STATE_HOME", ".local/state");
}
fs::path Environment::cache_directory() const {
  return xdg_directory(*this, "XDG_CACHE_HOME", ".cache");
}

fs::path Environment::temporary_directory() const { return get_or("TMPDIR", "/tmp"); }

}  // namespace sparkrun::sys
