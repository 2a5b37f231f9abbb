// SPDX-License-Identifier: MIT
#pragma once

#include "profile/options.hpp"

#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sparkrun::profile {

namespace fs = std::filesystem;

// Where a profile was found, in the order of the look-up.
enum class Origin { project, user, system, built_in, image };
std::string_view to_string(Origin origin);  // `project`, `user`, `system`, `built-in`, `image`

enum class GpuAccess { automatic, runtime_and_gpus, runtime, gpus, cdi, none };
std::string_view to_string(GpuAccess access);
std::optional<GpuAccess> parse_gpu_access(std::string_view text);  // `auto`, `runtime+gpus`, ...

struct Gpu {
  GpuAccess access = GpuAccess::automatic;
  std::string devices = "all";  // as --gpus takes it
};

struct Mount {
  std::string source;  // as written: may be relative, start with `~`, contain ${VAR}
  std::string target;
  bool create = false;  // make the source folder, as the caller, when it is missing
  bool read_only = false;
  std::vector<std::string> options = {};  // what else -v takes behind the target: `z`, `rshared`
};

struct HostVariable {
  std::string name;
  bool is_required = true;  // false: written `NAME?`
};

struct Preflight {
  std::optional<long long> min_available_gib;
  std::map<std::string, std::string> packages;  // name -> `==5.13.1`
};

// How it shows that the job does its work: exactly one of the first two is there.
struct Readiness {
  std::string http;  // URL on this machine; any answer from 200 to 399 will do
  std::string log;   // regular expression (PCRE2) for one line of what the job prints
  std::chrono::seconds timeout{20 * 60};
};

// A profile after inheritance: what is to be run, before anything of this host enters.
struct Profile {
  std::string name;
  Origin origin = Origin::built_in;
  fs::path path;       // of the profile's own file; empty when it is built in or made from an image
  std::string sha256;  // hex, over the texts of the whole `extends` chain, own file first

  std::string summary;
  std::string purpose;  // training, inference, tool, or empty
  std::string image;    // as written
  std::vector<std::string> fallback;
  std::vector<std::string> platforms = {"linux/arm64"};
  bool names_platforms = false;  // `platforms` is written in the profile
  std::string engine;            // empty: whatever the user has
  std::vector<std::string> command;
  std::vector<HostVariable> env_from_host;
  // name -> file whose content is the value; as written: may be relative, start with `~`, ...
  std::vector<std::pair<std::string, std::string>> env_from_file;
  Gpu gpu;
  std::vector<OptionValue> container;   // in the order of options()
  std::vector<std::string> extra_args;  // words that are passed through as they are
  std::vector<Mount> mounts;
  std::vector<std::pair<std::string, std::string>> env;  // in the order of the file
  Preflight preflight;
  std::optional<Readiness> ready;
};

// `[a-z0-9][a-z0-9_-]{0,62}`.
bool is_profile_name(std::string_view text);

}  // namespace sparkrun::profile
