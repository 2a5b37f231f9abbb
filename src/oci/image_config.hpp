// SPDX-License-Identifier: MIT
#pragma once

#include "base/digest.hpp"
#include "oci/platform.hpp"

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sparkrun::oci {

// What an image says of itself (OCI image-spec, config.md); absent members are empty.
struct ImageConfig {
  Platform platform;
  std::string created;           // RFC 3339, as written
  std::vector<std::string> env;  // `NAME=value`
  std::vector<std::string> entrypoint;
  std::vector<std::string> command;
  std::string user;
  std::string working_directory;
  std::map<std::string, std::string> labels;
  std::vector<Digest> diff_ids;  // of the uncompressed layers, lowest first; at least one
};

// Throws `registry.not_a_registry` when the blob is no image config (a chart, a model: artifacts
// have configs of their own) or has no layers.
ImageConfig parse_image_config(std::string_view body);

// The identity of the file system that these layers make (OCI image-spec, config.md, "Layer
// ChainID"). Of at least one layer.
Digest chain_id(std::span<const Digest> diff_ids);

}  // namespace sparkrun::oci
