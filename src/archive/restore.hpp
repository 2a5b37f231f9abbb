// SPDX-License-Identifier: MIT
#pragma once

#include "archive/watch.hpp"
#include "engine/engine.hpp"
#include "oci/manifest.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace sparkrun::archive {

namespace fs = std::filesystem;

// An image of a layout for one platform, every blob of it verified.
struct RestorableImage {
  std::string reference;              // as the layout says it; may be empty
  std::vector<std::string> profiles;  // who locks it
  Digest root;
  oci::Descriptor manifest;
  Digest config;
  std::vector<oci::Descriptor> layers;
  std::vector<std::string> tags;  // names for the engine, which keep it from being pruned

  // Of config and layers.
  [[nodiscard]] long long bytes() const;
};

struct Selection {
  std::vector<RestorableImage> images;
  std::vector<std::string> skipped;  // references that have no build for the platform
};

// The images of the layout in `folder` for a platform. Throws `archive.invalid` for whatever is not
// as it should be, `registry.platform_missing` when no image is for the platform.
Selection select_images(const fs::path& folder, const oci::Platform& platform, const Watch& watch);

// Where an image is known by its tags and by the id that it must have, nothing has to be loaded.
bool is_loaded(const RestorableImage& image, engine::Engine& engine);

// Gives the engine these images of the layout, without a network. `scratch`: for a folder with
// links. Throws `engine.*`, `engine.other_content` when the engine has something else afterwards.
void load_images(const std::vector<RestorableImage>& images, const fs::path& folder,
                 const fs::path& scratch, engine::Engine& engine);

}  // namespace sparkrun::archive
