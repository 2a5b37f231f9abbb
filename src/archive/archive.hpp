// SPDX-License-Identifier: MIT
#pragma once

#include "archive/layout.hpp"
#include "archive/watch.hpp"
#include "lock/lockfile.hpp"
#include "oci/registry.hpp"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace sparkrun::archive {

namespace fs = std::filesystem;

struct ArchivedImage {
  LayoutImage image;
  std::map<std::string, Digest> platforms;  // to the manifest
  size_t left_out = 0;                      // children of the index that are not in the archive
};

struct ArchivedBlob {
  Digest digest;
  long long bytes = 0;
  bool was_fetched = false;  // false: it was there already
};

struct Report {
  std::vector<ArchivedImage> images;
  std::vector<ArchivedBlob> blobs;  // documents too, each once, by digest
};

// Makes the images part of the layout in `folder` (which is created): fetches by locked digests
// what it lacks or what is not whole. Throws `registry.*` (`registry.offline` when something would
// have to be fetched), `lock.invalid`, `file.unwritable`, `archive.invalid`. What came whole before
// an error stays; index.json names the images only when all of it is there.
Report archive(const std::vector<lock::LockedProfile>& locked, const fs::path& folder,
               oci::Registry& registry, const Watch& watch);

}  // namespace sparkrun::archive
