// SPDX-License-Identifier: MIT
#pragma once

#include "base/toml.hpp"
#include "sys/environment.hpp"

#include <chrono>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sparkrun::config {

enum class SettingKind { text, boolean, number, list };

// One row per setting: its key in config.toml; its variable is SPARKRUN_ and the key in capitals.
struct Setting {
  std::string_view key;
  SettingKind kind;
  std::string_view choices;  // of a text, separated by `|`; empty: free
  std::string_view fallback;
  std::string_view summary;
};
std::span<const Setting> settings();

// What is set, and by whom. Built in < /etc < user's file < SPARKRUN_ variables < command line;
// never from a project folder, which may be somebody else's.
class Settings {
 public:
  // Throws `config.invalid`, naming every fault of a file.
  static Settings load(const sys::Environment& environment,
                       const sys::fs::path& system_file = "/etc/sparkrun/config.toml");

  void set(std::string_view key, std::string value, std::string origin);

  [[nodiscard]] std::string text(std::string_view key) const;
  // Nothing: left to the circumstances (only `locked`).
  [[nodiscard]] std::optional<bool> boolean(std::string_view key) const;
  [[nodiscard]] std::chrono::seconds seconds(std::string_view key) const;
  [[nodiscard]] std::vector<std::string> list(std::string_view key) const;
  // `built in`, a path, `SPARKRUN_LOCKED`, `--locked`.
  [[nodiscard]] std::string origin(std::string_view key) const;

 private:
  struct Value {
    std::string text;  // a list has one item a line
    std::string origin;
  };
  void load_file(const sys::fs::path& path);
  void load_value(const std::string& key, const TomlNode& node, const sys::fs::path& path,
                  std::vector<std::string>& problems);
  std::map<std::string, Value, std::less<>> values_;
};

}  // namespace sparkrun::config
