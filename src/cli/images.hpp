// SPDX-License-Identifier: MIT
#pragma once

#include "cli/command.hpp"
#include "run/images.hpp"

#include <memory>
#include <vector>

namespace sparkrun::cli {

// What `image ls` and `image prune` speak of.
struct ImageStore {
  std::unique_ptr<engine::Engine> engine;
  std::vector<run::KeptImage> images;
};

// Asks the engine, the locks and the ledgers; `days` is how long a run counts as recent.
ImageStore find_images(Context& context, long long days);

// The value of --days.
long long parse_days(const Arguments& arguments);

Json to_json(const run::KeptImage& image);

}  // namespace sparkrun::cli
