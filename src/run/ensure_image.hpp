// SPDX-License-Identifier: MIT
#pragma once

#include "engine/engine.hpp"
#include "plan/run_plan.hpp"

#include <functional>
#include <string>

namespace sparkrun::run {

struct EnsuredImage {
  engine::LocalImage image;
  std::string
      run_as;  // what the engine is to be given: as planned, or an id where it knows no repo digest
  std::string matched_by;  // config, manifest, index: which of the pinned digests identifies it;
                           // digest: nobody said which kind it is
  bool was_pulled = false;
};

// When and how an image may be fetched.
struct PullRules {
  bool is_offline = false;
  bool shows_progress = false;
  // Called before the first pull, when it is known that one is needed; may throw.
  std::function<void()> before_pull = [] {};
};

// Second phase: the pinned image is in the engine's store and is the pinned one. Local store first;
// a pull goes by digest. Throws `registry.offline`, `engine.other_content`, and what the engine or
// the registry behind it refuses (`engine.*`, `registry.*`).
EnsuredImage ensure_image(const plan::PinnedImage& pinned, engine::Engine& engine,
                          const PullRules& rules);

// Which pinned digest the local image is known by, or empty when it is another image. The image id
// is the config digest on docker's classic store and a manifest or index digest on the containerd
// store; while the pin has no config digest, a repository digest of the same name decides.
std::string match_content(const plan::PinnedImage& pinned, const engine::LocalImage& image);

}  // namespace sparkrun::run
