// SPDX-License-Identifier: MIT
#pragma once

#include "base/toml.hpp"
#include "profile/profile.hpp"
#include "sys/environment.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sparkrun::profile {

// The folder whose profiles/ and lockfiles/ count.
struct Project {
  fs::path root;
  bool is_project = false;  // false: `root` is only the working directory
};

// `directory` (-C), else the nearest ancestor with lockfiles/*.lock or a profiles/ that holds a
// sparkrun profile (the search ends at .git and never reaches $HOME), else the folder that holds
// .git, else the working directory. Throws `usage.bad_value` when `directory` is no folder.
Project find_project(const sys::Environment& environment, const std::optional<fs::path>& directory);

// Whether a text claims to be a sparkrun profile, also when it has faults: it has lines that begin
// with `version = NUMBER` and with a key or a table of ours (`image =`, `extends =`, `[gpu]`, ..).
bool looks_like_profile(std::string_view text);

struct ListedProfile {
  std::string name;
  Origin origin = Origin::built_in;
  fs::path path;  // empty: built in
  std::string summary;
  std::string image;
  bool is_shadowed = false;  // one of the same name is found earlier
  std::string problem;       // why it cannot be used; empty: it can
};

// A profile, and where each of its values was written.
struct LoadedProfile {
  Profile profile;
  TomlNode root;                     // merged; `source` of each node counts in `sources`
  std::vector<std::string> sources;  // the file itself, then what it extends
};

// Finds profiles by name: in the project, then the user's, the system's, and the built-in ones.
class Store {
 public:
  Store(Project project, const sys::Environment& environment,
        fs::path system_directory = "/etc/sparkrun/profiles");

  // After inheritance. An extended name is looked up from the origin of the file that extends it
  // downwards, so that a project never changes what a user's own profile means; a profile that
  // extends its own name means the next origin down. Throws `profile.*`, `file.unreadable`.
  [[nodiscard]] Profile load(std::string_view name) const;
  [[nodiscard]] LoadedProfile load_with_origins(std::string_view name) const;

  // All of them, in the order of look-up, then by name. Faulty ones are listed with their problem.
  [[nodiscard]] std::vector<ListedProfile> list() const;

  // For `run IMAGE`: [gpu] and [container] of the built-in `pytorch`, nothing else of it. No
  // platforms means whatever the engine has. Throws `reference.malformed`.
  [[nodiscard]] Profile from_image(std::string_view reference_text) const;

  // Where `lock` keeps the pins of a profile; nothing for one that was made from an image.
  [[nodiscard]] std::optional<fs::path> lock_path(const Profile& profile) const;

  [[nodiscard]] const Project& project() const { return project_; }

 private:
  struct Source {
    std::string name;
    Origin origin = Origin::built_in;
    fs::path path;
    std::string text;
    [[nodiscard]] std::string display_name() const;
  };

  [[nodiscard]] std::optional<fs::path> folder(Origin origin) const;
  [[nodiscard]] std::optional<Source> find_at(std::string_view name, Origin origin) const;
  [[nodiscard]] std::optional<Source> find_from(std::string_view name, Origin first) const;
  [[nodiscard]] std::vector<std::string> names_at(Origin origin) const;
  [[nodiscard]] LoadedProfile resolve(Source source) const;
  [[nodiscard]] ListedProfile describe(const std::string& name, Origin origin) const;
  [[noreturn]] void fail_unknown(std::string_view name, const std::string& extended_by) const;

  Project project_;
  fs::path config_directory_;
  fs::path system_directory_;
};

}  // namespace sparkrun::profile
