// SPDX-License-Identifier: MIT
#pragma once

#include "lock/drift.hpp"
#include "oci/registry.hpp"

#include <string>
#include <vector>

namespace sparkrun::lock {

// One side of a comparison: a reference, or a lock's pin.
struct Side {
  std::string name;  // for messages: the reference, or the profile
  oci::Reference reference;
  std::vector<std::string> platforms;  // those of the lock; empty: not said
};

struct Comparison {
  Digest before;  // index or manifest
  Digest after;
  std::vector<PlatformDrift> platforms;  // `locked` is the first side, `now` the second
};

// Compares two images build by build: for `platform`, else for the platforms that a side names,
// else for linux/arm64 where both have it, else for all that both have. Throws what the registry
// answers, `registry.platform_missing` where the sides have no platform in common.
Comparison compare_images(const Side& before, const Side& after, const std::string& platform,
                          oci::Registry& registry);

}  // namespace sparkrun::lock
