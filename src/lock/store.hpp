// SPDX-License-Identifier: MIT
#pragma once

#include "lock/lockfile.hpp"
#include "profile/profile.hpp"
#include "sys/environment.hpp"

#include <optional>
#include <string>

namespace sparkrun::lock {

namespace fs = std::filesystem;

// A lock and where it came from.
struct StoredLock {
  Lockfile lock;
  std::string source;  // path, or `built in`
  std::string sha256;  // hex, of the file's bytes
};

// The lock at `path`, else, for a built-in profile only, the one that is compiled in: an embedded
// lock never serves a profile of another origin. Throws as Lockfile::parse does.
std::optional<StoredLock> find_lock(const profile::Profile& profile, const fs::path& path);

// Throws `lock.stale`, with every reason, where the lock was made for something else.
void refuse_if_stale(const StoredLock& stored, const profile::Profile& profile);

// Writes the lock unless the bytes are there already (a read-only checkout stays usable). Returns
// whether anything was written.
bool write_lock(const fs::path& path, const Lockfile& lock);

// Where a run without a lockfile remembers its pin: by project root and profile name or image
// reference.
fs::path remembered_path(const sys::Environment& environment, const fs::path& root,
                         const std::string& key);

}  // namespace sparkrun::lock
