// SPDX-License-Identifier: MIT
#include "oci/endpoint.hpp"

#include "base/text.hpp"
#include "oci/url.hpp"

#include <algorithm>

namespace sparkrun::oci {
namespace {

constexpr std::string_view hub = "docker.io";
constexpr std::string_view hub_host = "registry-1.docker.io";

bool is_listed(const std::vector<std::string>& list, std::string_view registry) {
  return std::ranges::any_of(list, [&](std::string_view entry) {
    return equal_ignoring_case(registry, entry) ||
           equal_ignoring_case(registry.substr(0, registry.rfind(':')), entry);
  });
}

std::vector<std::string> origins_of(std::string_view registry, const RegistryOptions& options,
                                    Certificates& certificates) {
  const std::string host{registry == hub ? hub_host : registry};
  const std::string http = "http://" + host, https = "https://" + host;
  if (is_listed(options.plain_http, registry)) return {http};
  if (!is_loopback(registry)) return {https};
  return certificates.is_ca_named(host) ? std::vector{https, http} : std::vector{http, https};
}

}  // namespace

std::vector<Endpoint> endpoints_of(std::string_view registry, const RegistryOptions& options,
                                   Certificates& certificates) {
  std::vector<Endpoint> endpoints;
  if (registry == hub) {
    for (const std::string& mirror : options.hub_mirrors) {
      const std::string origin = origin_of(mirror);
      endpoints.push_back({std::string{authority_of(origin)}, {origin}});
    }
  }
  endpoints.push_back({std::string{registry}, origins_of(registry, options, certificates)});
  return endpoints;
}

}  // namespace sparkrun::oci
