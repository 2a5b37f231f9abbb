// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace sparkrun::oci {

// `https://host:port` of an absolute URL, in lower case and without a default port (RFC 6454).
std::string origin_of(std::string_view url);

// `host[:port]` of an origin.
std::string_view authority_of(std::string_view origin);

// `host` of `host[:port]`; an IPv6 address keeps its brackets.
std::string host_without_port(std::string_view authority);

// A URL as a server writes it (absolute, `//host/x`, `/x`, `?x` or `x`) seen from `base` (RFC
// 3986, 5.2; without the removal of `..`).
std::string resolve_url(std::string_view base, std::string_view reference);

// Everything but unreserved characters as %XX (RFC 3986, 2.1).
std::string percent_encode(std::string_view text);

// Whether a registry (`host[:port]`) or the host of an origin is this machine: localhost,
// 127.0.0.0/8, [::1].
bool is_loopback(std::string_view host);

}  // namespace sparkrun::oci
