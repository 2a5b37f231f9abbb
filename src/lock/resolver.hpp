// SPDX-License-Identifier: MIT
#pragma once

#include "base/error.hpp"
#include "lock/lockfile.hpp"
#include "oci/registry.hpp"

#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace sparkrun::lock {

// One pin that is wanted: an image for some platforms, perhaps with a pin that stands already.
struct PinRequest {
  std::string name;   // of the profile, for messages
  std::string image;  // as the profile writes it
  std::vector<std::string> platforms;
  std::optional<Lockfile> current;
  bool update = false;              // ask the tag anew
  std::optional<Digest> update_to;  // pin exactly this
};

using PinResult = std::variant<Lockfile, Error>;

// `docker.io/library/ubuntu:latest` for `ubuntu`. Throws `reference.malformed`.
std::string expand(const std::string& image);

// Whether the request can be answered without the network: the pin is there, fits and is complete.
bool is_settled(const PinRequest& request);

// Answers all requests over one connection, in their order; one that fails does not stop the
// others. A pin whose image text is unchanged is not moved (unless told to): what it lacks is read
// from the locked digest, never from the tag.
std::vector<PinResult> resolve_pins(const std::vector<PinRequest>& requests,
                                    oci::Registry& registry);

}  // namespace sparkrun::lock
