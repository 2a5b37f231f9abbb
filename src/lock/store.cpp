// SPDX-License-Identifier: MIT
#include "lock/store.hpp"

#include "base/embedded.hpp"
#include "base/error.hpp"
#include "lock/resolver.hpp"
#include "sys/files.hpp"

#include <fmt/format.h>

namespace sparkrun::lock {

std::optional<StoredLock> find_lock(const profile::Profile& profile, const fs::path& path) {
  if (const auto text = sys::read_file(path)) {
    return StoredLock{Lockfile::parse(*text, path.string()), path.string(), sha256_hex(*text)};
  }
  if (profile.origin != profile::Origin::built_in) return std::nullopt;
  const auto text = embedded_file("lockfiles/" + profile.name + ".lock");
  if (!text) return std::nullopt;
  return StoredLock{Lockfile::parse(*text, "built-in lock"), "built in", sha256_hex(*text)};
}

void refuse_if_stale(const StoredLock& stored, const profile::Profile& profile) {
  const std::vector<std::string> reasons =
      stale_reasons(stored.lock, expand(profile.image), profile.platforms);
  if (reasons.empty()) return;
  throw Error{"lock.stale",
              fmt::format("the lock of profile `{}` is stale ({})", profile.name, stored.source),
              {{"profile", profile.name}},
              reasons};
}

bool write_lock(const fs::path& path, const Lockfile& lock) {
  const std::string text = lock.to_text();
  if (sys::read_file(path) == text) return false;
  sys::make_directories(path.parent_path(), 0755);
  sys::write_file_atomically(path, text);
  return true;
}

fs::path remembered_path(const sys::Environment& environment, const fs::path& root,
                         const std::string& key) {
  const std::string hash = sha256_hex(root.string() + '\n' + key).substr(0, 32);
  return environment.state_directory() / "pins" / (hash + ".lock");
}

}  // namespace sparkrun::lock
