// SPDX-License-Identifier: MIT
#pragma once

#include "audit/query.hpp"
#include "config/settings.hpp"
#include "engine/engine.hpp"
#include "lock/lockfile.hpp"
#include "profile/store.hpp"
#include "sys/system.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace sparkrun::run {

// Who needs an image, by the digests that it may be known by.
struct ImageNeed {
  std::string who;  // `lock /p/lockfiles/a.lock`, `run 01J..`
  std::vector<std::string> digests;
  bool is_run = false;
  bool is_past = false;  // a run that does not count as recent: it needs nothing any more
};

// An image that has a tag of ours.
struct KeptImage {
  engine::StoredImage image;
  std::vector<std::string> needed_by;  // empty: nobody that is known of
  bool is_own = false;                 // a run of these ledgers used it, whenever

  [[nodiscard]] bool has_other_names() const;
  // What to remove: our names, and all where nobody else gave it one.
  [[nodiscard]] std::vector<std::string> removable_names() const;
};

// All locks that can be known of: the project's, the user's, the built-in ones, and those that a
// run of the ledgers was started with; and the runs, those before `since` as past. Throws `lock.*`
// and `file.unreadable`: what cannot be read may need anything.
std::vector<ImageNeed> image_needs(const profile::Project& project, const sys::System& system,
                                   const std::vector<audit::Run>& runs, TimePoint since);

// The images with a tag below `sparkrun/`.
std::vector<KeptImage> kept_images(engine::Engine& engine, const std::vector<ImageNeed>& needs);

}  // namespace sparkrun::run
