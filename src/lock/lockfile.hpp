// SPDX-License-Identifier: MIT
#pragma once

#include "base/digest.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sparkrun::lock {

// What is pinned for one platform. Only the manifest is required; the rest is filled in by
// `sparkrun lock`.
struct PlatformPin {
  Digest manifest;
  // The index that it was found in. Where it is not the lock's, two locks were merged into one.
  std::optional<Digest> index;
  std::optional<Digest> config;
  std::optional<Digest> chain;  // ChainID of the top layer: the same file system?
  std::string created;          // RFC 3339, from the image config
  long long download_bytes = -1;
  std::map<std::string, std::string>
      image_env;  // release variables: CUDA_VERSION, PYTORCH_VERSION, ...

  bool operator==(const PlatformPin&) const = default;
};

// `lockfiles/NAME.lock`: a value without I/O. Its text is canonical: the same value always gives
// the same bytes, and holds nothing of the time or the machine (docs/formats.md).
struct Lockfile {
  std::string comment;  // leading comment lines, kept as they are, each with its newline
  std::string image;    // expanded reference, as the profile wrote it
  std::optional<Digest> index;
  std::string taken;          // expanded reference that was taken instead; empty: `image` itself
  std::string taken_because;  // why
  std::map<std::string, PlatformPin> platforms;

  // Throws `lock.conflict`, `lock.newer` or `lock.invalid`, naming `source` and the line.
  static Lockfile parse(std::string_view text, const std::string& source);
  [[nodiscard]] std::string to_text() const;
  [[nodiscard]] bool is_complete() const;
  bool operator==(const Lockfile&) const = default;
};

// What a profile pins.
struct LockedProfile {
  std::string name;
  Lockfile lock;
};

// `A is wanted, B was taken: why`; empty where the wanted reference itself is pinned.
std::string fallback_text(const Lockfile& lock);

// What the tag pointed at: the index, or the one manifest.
Digest locked_root(const Lockfile& lock);

// The comment of a new file.
std::string default_comment();

// Why the lock does not serve this profile; empty: it does. Incomplete is not stale.
std::vector<std::string> stale_reasons(const Lockfile& lock, const std::string& image,
                                       const std::vector<std::string>& platforms);

// The entries of an image's `KEY=VALUE` environment that say which release it is.
std::map<std::string, std::string> release_variables(const std::vector<std::string>& env);

}  // namespace sparkrun::lock
