// SPDX-License-Identifier: MIT
#pragma once

#include "base/error.hpp"
#include "lock/lockfile.hpp"
#include "oci/registry.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sparkrun::lock {

// How far an image has moved away from a locked one, by what a container would notice.
enum class DriftClass {
  same,
  metadata_only,  // another index around the same build: an attestation, another platform
  repackaged,     // another manifest of the same config: layers compressed anew
  config_only,    // the same files with another environment, entrypoint, label ...
  content,        // other files
  platform_lost,  // there is no build for the platform any more
  tag_gone,
  unknown,  // the registry gave no answer that counts; never the same as `same`
};
// `metadata-only`
std::string_view to_string(DriftClass drift);
// 0, 1 (repackaged, config-only, content), 8, 6 or 5.
ExitCode exit_code(DriftClass drift);

// Something with a name that only one side has, or both with different values.
struct Change {
  std::string name;
  std::optional<std::string> before;
  std::optional<std::string> after;
};

// What is different between two images, from their manifests and configs alone.
struct ImageDifference {
  std::vector<Change> env;
  std::vector<Change> labels;
  std::vector<Change> settings;  // entrypoint, command, user, working directory
  size_t layers_shared = 0;
  size_t layers_gone = 0;
  size_t layers_new = 0;
  long long new_bytes = 0;  // compressed size of the new layers
};
ImageDifference compare(const oci::ImageDetails& before, const oci::ImageDetails& after);

// One build of an image, as far as it is known.
struct Build {
  Digest manifest;
  std::optional<Digest> config;
  std::optional<Digest> chain;
};
// Of two builds from different indexes. What is not known counts as different.
DriftClass classify(const Build& before, const Build& after);

struct PlatformDrift {
  std::string platform;
  DriftClass drift = DriftClass::unknown;
  Digest locked;              // manifest
  std::optional<Digest> now;  // manifest
  std::string locked_created;
  std::string now_created;
  std::optional<ImageDifference> difference;  // none: nothing differs, or one side is gone
  std::optional<Error> error;                 // of `platform_lost` and `unknown`
};

// What has become of one lock.
struct Drift {
  std::string name;       // of the profile
  std::string reference;  // what was asked for
  Digest locked;          // index or manifest
  std::optional<Digest> now;
  std::vector<PlatformDrift> platforms;
  std::vector<std::string> gone;  // locked digests that the registry no longer has
  std::optional<Error> error;     // why there is nothing to compare: `tag_gone`, `unknown`

  // The worst of its platforms, or what `error` says.
  [[nodiscard]] DriftClass drift() const;
  [[nodiscard]] ExitCode exit_code() const;
};

// Asks where the tags of the locks point now, all over shared connections, and for kilobytes of
// manifests and configs where they have moved. In the order of the locks.
std::vector<Drift> find_drift(const std::vector<LockedProfile>& locks, oci::Registry& registry);

// Which of the digests of each lock the registry still has, and whether they belong together as the
// lock says. One list of problems for each lock; empty: all is there. A problem is
// `registry.not_found` (gone), `lock.invalid` (the lock contradicts the registry), or why nobody
// knows.
std::vector<std::vector<Error>> check_locked(const std::vector<LockedProfile>& locks,
                                             oci::Registry& registry);

}  // namespace sparkrun::lock
