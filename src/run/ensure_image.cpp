// SPDX-License-Identifier: MIT
#include "run/ensure_image.hpp"

#include "base/error.hpp"
#include "oci/reference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

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

bool has_repo_digest(const engine::LocalImage& image, const std::string& name,
                     const std::string& digest) {
  if (digest.empty()) return false;
  return std::ranges::any_of(image.repo_digests, [&](const std::string& text) {
    try {
      const oci::Reference known = oci::Reference::parse(text);
      return known.name() == name && known.digest() && known.digest()->to_string() == digest;
    } catch (const Error&) {
      return false;  // `<none>@<none>`: docker's word for an image without a name
    }
  });
}

}  // namespace

std::string match_content(const plan::PinnedImage& pinned, const engine::LocalImage& image) {
  if (!pinned.config.empty() && image.id == pinned.config) return "config";
  if (!pinned.manifest.empty() && image.id == pinned.manifest) return "manifest";
  if (!pinned.index.empty() && image.id == pinned.index) return "index";
  if (!pinned.config.empty()) return {};
  const oci::Reference reference = oci::Reference::parse(pinned.reference);
  const std::string name = reference.name();
  if (has_repo_digest(image, name, pinned.index)) return "index";
  if (has_repo_digest(image, name, pinned.manifest)) return "manifest";
  const bool is_digest_alone =
      pinned.index.empty() && pinned.manifest.empty() && reference.digest();
  if (is_digest_alone && has_repo_digest(image, name, reference.digest()->to_string()))
    return "digest";
  return {};
}

namespace {

// From the local store, else by a pull. `matched_by` is empty when it is not the pinned image.
EnsuredImage find_or_pull(const plan::PinnedImage& pinned, engine::Engine& engine,
                          const PullRules& rules) {
  std::optional<EnsuredImage> found = find_local(pinned, engine);
  if (!found) {
    if (rules.is_offline) {
      throw Error{"registry.offline",
                  fmt::format("{} is not in the engine's store, and --offline forbids to pull it",
                              pinned.run_as)};
    }
    rules.before_pull();
    while_doing("pulling " + pinned.run_as,
                [&] { engine.pull(pinned.run_as, pinned.platform, rules.shows_progress); });
    found = find_local(pinned, engine);
    if (!found) {
      throw Error{"engine.failed", fmt::format("{} pulled {} and does not know it now",
                                               engine.name(), pinned.run_as)};
    }
    found->was_pulled = true;
  }
  found->matched_by = match_content(pinned, found->image);
  return *found;
}

// The classic store knows one platform per index digest: when another one is there already, ours
// goes by the digest of its own manifest (moby#43188).
plan::PinnedImage by_manifest(plan::PinnedImage pinned) {
  pinned.run_as = pinned.run_as.substr(0, pinned.run_as.find('@') + 1) + pinned.manifest;
  return pinned;
}

}  // namespace

EnsuredImage ensure_image(const plan::PinnedImage& pinned, engine::Engine& engine,
                          const PullRules& wanted) {
  bool is_first = true;
  PullRules rules = wanted;
  rules.before_pull = [&] {
    if (std::exchange(is_first, false)) wanted.before_pull();
  };
  EnsuredImage found = find_or_pull(pinned, engine, rules);
  if (found.matched_by.empty() && !pinned.index.empty()) {
    found = find_or_pull(by_manifest(pinned), engine, rules);
  }
  if (found.matched_by.empty()) {
    throw Error{"engine.other_content",
                fmt::format("the engine's image for {} is {}, not the pinned {}", found.run_as,
                            found.image.id, pinned.config.empty() ? pinned.run_as : pinned.config),
                {{"image", found.run_as}}};
  }
  return found;
}

}  // namespace sparkrun::run
