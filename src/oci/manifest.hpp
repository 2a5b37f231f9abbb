// SPDX-License-Identifier: MIT
#pragma once

#include "base/digest.hpp"
#include "oci/platform.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sparkrun::oci {

enum class Kind { index, manifest };
std::string_view to_string(Kind kind);

// A pointer to other content (OCI image-spec, descriptor.md).
struct Descriptor {
  std::string media_type;
  Digest digest;
  long long size = 0;  // bytes
  std::optional<Platform> platform;
  std::map<std::string, std::string> annotations;
};

// An image index (or Docker manifest list), or an image manifest.
struct Manifest {
  Kind kind = Kind::manifest;
  std::string media_type;             // always one of the four
  std::vector<Descriptor> manifests;  // of an index
  std::optional<Descriptor> config;   // of a manifest: always there
  std::vector<Descriptor> layers;     // of a manifest
};

constexpr size_t children_max = 256;  // of one index

// `content_type` is the header, empty when absent; one that says nothing of the kind (text/plain,
// application/json) leaves the judgement to the body. Throws `registry.not_a_registry` for all that
// is not exactly one of the four documents: HTML, schema 1, a `mediaType` that contradicts the
// header.
Manifest parse_manifest(std::string_view body, std::string_view content_type);

}  // namespace sparkrun::oci
