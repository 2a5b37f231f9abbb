// SPDX-License-Identifier: MIT
#pragma once

#include "oci/manifest.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace sparkrun::archive {

// The two files at the top of an OCI image layout (image-spec, image-layout.md), as values. What is
// read may be anybody's: everything throws `archive.invalid`.

inline constexpr std::string_view marker_name = "oci-layout";
inline constexpr std::string_view index_name = "index.json";

// One image of a layout, as its index.json lists it.
struct LayoutImage {
  oci::Descriptor root;               // an index, or a single manifest
  std::string reference;              // expanded; empty: not said
  std::vector<std::string> profiles;  // who locks it; empty: not said
};

std::string marker_text();
void check_marker(std::string_view text);

std::vector<LayoutImage> parse_index(std::string_view text);

// The index.json with these images added to those of `text` (empty: there is none yet), which are
// kept as they are. Of the same reference, an entry with the same digest becomes one with the new
// one; another digest stays only for profiles that are not among the new ones.
std::string add_images(std::string_view text, std::vector<LayoutImage> images);

}  // namespace sparkrun::archive
