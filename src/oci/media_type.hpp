// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace sparkrun::oci::media_type {

// OCI image-spec, media-types.md; the last two are Docker's forerunners (Image Manifest V2, Schema
// 2).
inline constexpr std::string_view oci_index = "application/vnd.oci.image.index.v1+json";
inline constexpr std::string_view oci_manifest = "application/vnd.oci.image.manifest.v1+json";
inline constexpr std::string_view docker_list =
    "application/vnd.docker.distribution.manifest.list.v2+json";
inline constexpr std::string_view docker_manifest =
    "application/vnd.docker.distribution.manifest.v2+json";

// One line with all four: a registry that misses the stored type converts silently (to the amd64
// child) or answers 404.
inline constexpr std::string_view accepted =
    "application/vnd.oci.image.index.v1+json, application/vnd.oci.image.manifest.v1+json, "
    "application/vnd.docker.distribution.manifest.list.v2+json, "
    "application/vnd.docker.distribution.manifest.v2+json";

constexpr bool is_index(std::string_view type) { return type == oci_index || type == docker_list; }
constexpr bool is_manifest(std::string_view type) {
  return type == oci_manifest || type == docker_manifest;
}

}  // namespace sparkrun::oci::media_type
