// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>

namespace sparkrun::sys {

namespace fs = std::filesystem;

// The process's surroundings, read once in main and passed down as a value.
struct Environment {
  std::map<std::string, std::string, std::less<>> variables;
  fs::path working_directory;
  uid_t uid = 0;
  gid_t gid = 0;

  static Environment of_this_process();

  // An empty variable counts as set: `CUDA_VISIBLE_DEVICES=` means something.
  [[nodiscard]] std::optional<std::string> get(std::string_view name) const;
  [[nodiscard]] std::string get_or(std::string_view name, std::string_view fallback) const;

  // Where PATH finds a program; nothing when it does not.
  [[nodiscard]] std::optional<fs::path> find_program(std::string_view name) const;

  [[nodiscard]] fs::path home() const;
  // `$XDG_CONFIG_HOME/sparkrun` and its siblings; relative values are ignored (XDG base directory
  // specification).
  [[nodiscard]] fs::path config_directory() const;
  [[nodiscard]] fs::path state_directory() const;
  [[nodiscard]] fs::path cache_directory() const;
  // `$TMPDIR`, else /tmp.
  [[nodiscard]] fs::path temporary_directory() const;
};

}  // namespace sparkrun::sys
