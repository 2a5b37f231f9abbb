// SPDX-License-Identifier: MIT
#include "archive/image_tree.hpp"

#include "base/error.hpp"
#include "oci/media_type.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sparkrun::archive {
namespace {

constexpr int index_depth_max = 3;
constexpr size_t documents_max = 256;
constexpr size_t blobs_max = 4096;
const std::string attested_key = "vnd.docker.reference.digest";

}  // namespace

ImageTree::ImageTree(const Digest& root, std::vector<Digest> manifests)
    : manifests_(std::move(manifests)),
      missing_(manifests_),
      pending_{Pending{.digest = root, .size = std::nullopt}} {}

std::optional<WantedDocument> ImageTree::next() const {
  if (pending_.empty()) return std::nullopt;
  return WantedDocument{.digest = pending_.front().digest, .size = pending_.front().size};
}

void ImageTree::add(std::string_view body) {
  const Pending wanted = pending_.front();
  const auto size = static_cast<long long>(body.size());
  if (wanted.size.value_or(size) != size) {
    throw Error{"registry.content_mismatch",
                fmt::format("{} has {} bytes, its descriptor says {}", wanted.digest.to_string(),
                            size, *wanted.size)};
  }
  const oci::Manifest document = oci::parse_manifest(body, "");
  const bool is_root = documents_.empty();
  const bool is_index = document.kind == oci::Kind::index;
  if (!is_root && is_index != wanted.is_index) {
    throw Error{"registry.not_a_registry",
                fmt::format("{} is {}", wanted.digest.to_string(),
                            is_index ? "an index in the place of a build" : "no index")};
  }
  pending_.pop_front();
  documents_.push_back({.media_type = document.media_type, .digest = wanted.digest, .size = size});
  if (documents_.size() > documents_max) {
    throw Error{"registry.not_a_registry",
                fmt::format("the image has more than {} manifests", documents_max)};
  }
  std::erase(missing_, wanted.digest);
  if (is_index)
    add_index(document, wanted.depth);
  else
    add_manifest(document);
  if (pending_.empty() && !missing_.empty()) look_into_nested();
}

bool ImageTree::is_wanted(const oci::Descriptor& child) const {
  const auto is_locked = [&](std::string_view digest) {
    return std::ranges::any_of(
        manifests_, [&](const Digest& manifest) { return manifest.to_string() == digest; });
  };
  const auto attested = child.annotations.find(attested_key);
  return is_locked(child.digest.to_string()) ||
         (attested != child.annotations.end() && is_locked(attested->second));
}

void ImageTree::add_index(const oci::Manifest& index, int depth) {
  for (const oci::Descriptor& child : index.manifests) {
    const Pending pending{.digest = child.digest,
                          .size = child.size,
                          .depth = depth + 1,
                          .is_index = oci::media_type::is_index(child.media_type)};
    const bool is_known =
        std::ranges::find(documents_, child.digest, &oci::Descriptor::digest) != documents_.end() ||
        std::ranges::find(pending_, child.digest, &Pending::digest) != pending_.end();
    if (is_known) continue;
    if (pending.is_index && depth < index_depth_max)
      nested_.push_back(pending);
    else if (!pending.is_index && is_wanted(child))
      pending_.push_back(pending);
    else
      ++left_out_;
  }
}

void ImageTree::look_into_nested() {
  if (nested_.empty()) {
    throw Error{"lock.invalid",
                fmt::format("the lock's {} is not part of {}", missing_.front().to_string(),
                            root().digest.to_string())};
  }
  pending_.push_back(nested_.front());
  nested_.pop_front();
}

void ImageTree::add_manifest(const oci::Manifest& manifest) {
  add_blob(*manifest.config);
  std::ranges::for_each(manifest.layers, [&](const auto& layer) { add_blob(layer); });
}

void ImageTree::add_blob(const oci::Descriptor& blob) {
  if (std::ranges::find(blobs_, blob.digest, &oci::Descriptor::digest) != blobs_.end()) return;
  blobs_.push_back(blob);
  if (blobs_.size() <= blobs_max) return;
  throw Error{"registry.not_a_registry",
              fmt::format("the image has more than {} layers", blobs_max)};
}

}  // namespace sparkrun::archive
