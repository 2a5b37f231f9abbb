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
  // Tag patterns (`25.*-py3`): where the registry does not have the wanted tag, the newest that
  // matches one is taken.
  std::vector<std::string> fallback;
};

using PinResult = std::variant<Lockfile, Error>;

// `docker.io/library/ubuntu:latest` for `ubuntu`. Throws `reference.malformed`.
std::string expand(const std::string& image);

// Whether the request can be answered without the network: the pin is there, fits and is complete.
bool is_settled(const PinRequest& request);

// The newest of the tags that match a pattern, by their versions (25.9 is older than 25.11).
std::optional<std::string> newest_match(const std::vector<std::string>& tags,
                                        const std::vector<std::string>& patterns);

// Answers all requests over one connection, in their order; one that fails does not stop the
// others. A pin whose image text is unchanged is not moved (unless told to): what it lacks is read
// from the locked digest, never from the tag.
std::vector<PinResult> resolve_pins(const std::vector<PinRequest>& requests,
                                    oci::Registry& registry);

}  // namespace sparkrun::lock
