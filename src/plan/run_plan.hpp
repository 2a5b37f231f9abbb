// SPDX-License-Identifier: MIT
#pragma once

#include "profile/profile.hpp"
#include "sys/files.hpp"

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sparkrun::plan {

namespace fs = std::filesystem;

// Which image, and why that one. Digests are empty where they are not known.
struct PinnedImage {
  std::string reference;  // expanded, as the profile or the caller named it
  std::string run_as;     // what the engine is given: NAME@DIGEST, or an image id
  std::string index;
  std::string manifest;
  std::string config;
  std::string chain;
  std::string platform;
  std::string pin;       // lock, remembered, digest, image-id; empty: not pinned (only shown)
  std::string pin_note;  // one line for people: where the pin came from
  std::string cuda_version = {};  // of the image's config: `13.0.1.012`; empty: unknown
  long long download_bytes = -1;  // compressed; -1: unknown
  // The fallback that stands in for `reference`, and why; empty: none does.
  std::string taken;
  std::string taken_because;
};

// How the job reaches the GPU, decided from facts.
struct GpuChoice {
  profile::GpuAccess access = profile::GpuAccess::none;  // never `automatic`
  std::string devices;
  std::string reason;  // `the engine has a runtime called nvidia`
};

struct ResolvedMount {
  std::string source;  // absolute, or the name of a volume
  std::string target;
  bool read_only = false;
  bool must_create = false;               // missing, and the profile says create = true
  bool is_volume = false;                 // the engine's own, by name
  std::vector<std::string> options = {};  // as of profile::Mount
  bool is_from_profile = true;            // false: the caller's, from the command line
};

enum class TtyMode { automatic, always, never };

// What the command line adds to the profile.
struct RunOptions {
  TtyMode tty = TtyMode::automatic;
  std::vector<std::string> command;  // replaces the profile's when not empty
  std::vector<profile::OptionValue>
      container;  // replaces (flag, value) or adds to (list, table) the profile's
  std::vector<profile::Mount> mounts;
  std::vector<std::pair<std::string, std::string>> env;
  std::vector<std::string> extra_args;  // words that are passed through as they are
  std::vector<profile::HostVariable> env_from_host;
  std::optional<profile::GpuAccess> gpu_access;
  std::optional<std::string> gpu_devices;
  bool mounts_working_directory = false;  // --here
  bool mounts_hf_cache = false;           // --hf-cache
};

// Who asks for the run: `user = "caller"` makes the job the same user.
struct Caller {
  unsigned uid = 0;
  unsigned gid = 0;
  std::string name;
};

// What the plan needs to know of the engine; the default is a docker of this host.
struct EngineTraits {
  std::string name = "docker";
  std::vector<std::string> command = {"docker"};  // words that its command lines begin with
  bool is_rootless = false;
  bool is_remote = false;      // host files are not the engine's files
  std::string remote_address;  // of a remote one, for people
  // The highest RLIMIT_MEMLOCK that it can give, in bytes; -1: without limit.
  long long memlock_bytes_max = -1;
};

// What the plan needs to know of the surroundings.
struct PlanFacts {
  fs::path project_root;       // relative mount sources of a profile start here
  fs::path working_directory;  // those of the command line start here
  fs::path home;
  std::map<std::string, std::string, std::less<>> variables;  // of the host
  bool in_is_usable = true;
  bool in_is_terminal = false;
  bool out_is_terminal = false;
  Caller caller;
  EngineTraits engine;
  // All that planning asks of the file system.
  std::function<bool(const fs::path&)> path_exists = sys::path_exists;
  std::function<std::optional<fs::path>(const fs::path&)> real_path = sys::resolve_links;
  // For showing a profile: a variable that this host lacks stays as it is written.
  bool keeps_unset_variables = false;
  // The same question where the answer is a hint and no condition.
  std::function<bool(const fs::path&)> has_script = sys::path_exists;
};

// Everything a launch needs, as a value; printing it is `--dry-run`.
struct RunPlan {
  profile::Profile profile;
  EngineTraits engine;
  PinnedImage image;
  GpuChoice gpu;
  bool tty = false;
  bool interactive = false;
  std::vector<std::string> command;
  std::vector<profile::OptionValue> container;
  std::vector<ResolvedMount> mounts;
  std::vector<std::pair<std::string, std::string>>
      env;                                  // name=value, from profile and command line
  std::vector<std::string> host_variables;  // passed by name only, set on the host
  // Passed by name only, too: name -> the file that holds the value, absolute.
  std::vector<std::pair<std::string, std::string>> file_variables;
  std::vector<std::string> extra_args;  // of the profile, then of the caller
  std::vector<std::string> warnings;    // of this run
  std::vector<std::string> lints;       // of the profile, the same in each run: lints()

  // Whether the job gets a variable of that name, from wherever.
  [[nodiscard]] bool has_variable(std::string_view name) const;
  // The value of a [container] key; null where it is not set.
  [[nodiscard]] const profile::OptionValue* find(std::string_view key) const;
  // The name that profile or caller gave the container; empty: one is made at launch.
  [[nodiscard]] std::string name() const;
};

// What a launch adds to the words that a person would type.
struct LaunchExtras {
  std::string name;
  std::string cidfile;
  std::vector<std::pair<std::string, std::string>> labels;
  std::vector<std::pair<std::string, std::string>> env;
  // Not words: what the client finds in its own environment for the names that it passes on.
  std::vector<std::pair<std::string, std::string>> client_environment = {};
};

}  // namespace sparkrun::plan
