// SPDX-License-Identifier: MIT
#include "run/ensure_image.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.hpp"
#include "oci/reference.hpp"

namespace sparkrun::run {
namespace {

std::optional<EnsuredImage> find_local(const plan::PinnedImage& pinned, engine::Engine& engine) {
  if (auto image = engine.find_image(pinned.run_as)) {
    return EnsuredImage{.image = std::move(*image), .run_as = pinned.run_as, .matched_by = ""};
  }
  // Loaded from a file: no repository digest, but the id says what it is.
  for (const std::string& id : {pinned.config, pinned.manifest, pinned.index}) {
    if (id.empty()) continue;
    if (auto image = engine.find_image(id)) {
      return EnsuredImage{.image = std::move(*image), .run_as = id, .matched_by = ""};
    }
  }
  return std::nullopt;
}

bool has_repo_digest(const engine::LocalImage& image, const std::string& name, const std::string& digest) {
  if (digest.empty()) return false;
  return std::ranges::any_of(image.repo_digests, [&](const std::string& text) {
    const oci::Reference known = oci::Reference::parse(text);
    return known.name() == name && known.digest() && known.digest()->to_string() == digest;
  });
}

}  // namespace

std::string match_content(const plan::PinnedImage& pinned, const engine::LocalImage& image) {
  if (!pinned.config.empty() && image.id == pinned.config) return "config";
  if (!pinned.manifest.empty() && image.id == pinned.manifest) return "manifest";
  if (!pinned.index.empty() && image.id == pinned.index) return "index";
  if (!pinned.config.empty()) return {};
  const std::string name = oci::Reference::parse(pinned.reference).name();
  if (has_repo_digest(image, name, pinned.index)) return "index";
  if (has_repo_digest(image, name, pinned.manifest)) return "manifest";
  return {};
}

EnsuredImage ensure_image(const plan::PinnedImage& pinned, engine::Engine& engine, bool is_offline,
                          bool show_progress) {
  std::optional<EnsuredImage> found = find_local(pinned, engine);
  const bool was_pulled = !found;
  if (!found) {
    if (is_offline) {
      throw Error{"registry.offline",
                  fmt::format("{} is not in the engine's store, and --offline forbids to pull it", pinned.run_as)};
    }
    while_doing("pulling " + pinned.run_as, [&] { engine.pull(pinned.run_as, pinned.platform, show_progress); });
    found = find_local(pinned, engine);
    if (!found) {
      throw Error{"engine.failed", fmt::format("docker pulled {} and does not know it now", pinned.run_as)};
    }
  }
  found->was_pulled = was_pulled;
  found->matched_by = match_content(pinned, found->image);
  if (found->matched_by.empty()) {
    throw Error{"engine.other_content",
                fmt::format("the engine's image for {} is {}, not the pinned {}", pinned.run_as,
                            found->image.id, pinned.config.empty() ? pinned.manifest : pinned.config),
                {{"image", pinned.run_as}}};
  }
  return *found;
}

}  // namespace sparkrun::run
