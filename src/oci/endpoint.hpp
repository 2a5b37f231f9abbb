// SPDX-License-Identifier: MIT
#pragma once

#include "oci/certificates.hpp"
#include "oci/options.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace sparkrun::oci {

// Who serves the repositories of a registry.
struct Endpoint {
  std::string host;                  // `host[:port]`: for credentials and messages
  std::vector<std::string> origins;  // to be tried, the best first
};

// Where a registry is asked, the best first: Docker Hub's mirrors before Docker Hub. https
// everywhere, except for what the options name, and for a host of this machine, which has both:
// http first, unless the user has named a CA for it.
std::vector<Endpoint> endpoints_of(std::string_view registry, const RegistryOptions& options,
                                   Certificates& certificates);

}  // namespace sparkrun::oci
