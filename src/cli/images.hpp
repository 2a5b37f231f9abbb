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

// The row of the commands that choose an engine.
constexpr Option engine_option{
    "--engine", "", Takes::value, "NAME", "the container engine", Values::any, "docker|podman"};

// Asks the engine, the locks and the ledgers; --days is how long a run counts as recent.
ImageStore find_images(const Arguments& arguments, Context& context, std::string_view command);

Json to_json(const run::KeptImage& image);

}  // namespace sparkrun::cli
