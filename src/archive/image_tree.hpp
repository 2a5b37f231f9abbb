// SPDX-License-Identifier: MIT
#pragma once

#include "oci/manifest.hpp"

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sparkrun::archive {

// An index or manifest that has to be known next. The size of the root is not known before.
struct WantedDocument {
  Digest digest;
  std::optional<long long> size;
};

// What belongs to one locked image, found out document by document from its root; without I/O. The
// builds that are wanted are named by the digests of their manifests; their attestations (BuildKit:
// children that name a manifest in `vnd.docker.reference.digest`) come along.
class ImageTree {
 public:
  ImageTree(const Digest& root, std::vector<Digest> manifests);

  // Nothing: the tree is complete.
  [[nodiscard]] std::optional<WantedDocument> next() const;
  // `body` is what next() names, and hashes to it. Throws `registry.not_a_registry`,
  // `registry.content_mismatch` (another size) or, when the root does not lead to all the builds,
  // `lock.invalid`.
  void add(std::string_view body);

  // Once it is complete.
  [[nodiscard]] const oci::Descriptor& root() const { return documents_.front(); }
  // Indexes and manifests, the root first.
  [[nodiscard]] const std::vector<oci::Descriptor>& documents() const { return documents_; }
  // Configs and layers, each once.
  [[nodiscard]] const std::vector<oci::Descriptor>& blobs() const { return blobs_; }
  // How many children of the index are not part of it.
  [[nodiscard]] size_t left_out() const { return left_out_ + nested_.size(); }

 private:
  struct Pending {
    Digest digest;
    std::optional<long long> size;
    int depth = 1;  // of the root
    bool is_index = false;
  };
  void add_index(const oci::Manifest& index, int depth);
  void add_manifest(const oci::Manifest& manifest);
  void add_blob(const oci::Descriptor& blob);
  [[nodiscard]] bool is_wanted(const oci::Descriptor& child) const;
  void look_into_nested();

  std::vector<Digest> manifests_;
  std::vector<Digest> missing_;  // of those, not met yet
  std::deque<Pending> pending_;
  std::deque<Pending> nested_;  // indexes that may hold what is missing
  std::vector<oci::Descriptor> documents_;
  std::vector<oci::Descriptor> blobs_;
  size_t left_out_ = 0;
};

}  // namespace sparkrun::archive
