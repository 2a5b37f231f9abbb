// SPDX-License-Identifier: MIT
#include "oci/url.hpp"

#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sparkrun::oci {
namespace {

constexpr std::string_view scheme_end = "://";

// It begins with a scheme, whichever.
bool is_absolute(std::string_view url) {
  const size_t colon = url.find_first_of(":/?#");
  return colon != std::string_view::npos && colon > 0 && url[colon] == ':';
}

// Scheme and authority, as written.
std::string_view raw_origin(std::string_view url) {
  const size_t scheme = url.find(scheme_end);
  if (scheme == std::string_view::npos) return {};
  return url.substr(0, url.find_first_of("/?#", scheme + scheme_end.size()));
}

}  // namespace

std::string origin_of(std::string_view url) {
  std::string origin = to_lower(raw_origin(url));
  for (const std::string_view port : {std::string_view{":443"}, std::string_view{":80"}}) {
    const std::string_view scheme = port == ":443" ? "https://" : "http://";
    if (origin.starts_with(scheme) && origin.ends_with(port)) {
      origin.resize(origin.size() - port.size());
    }
  }
  return origin;
}

std::string_view authority_of(std::string_view origin) {
  const size_t scheme = origin.find(scheme_end);
  return scheme == std::string_view::npos ? origin : origin.substr(scheme + scheme_end.size());
}

std::string host_without_port(std::string_view authority) {
  const size_t colon = authority.rfind(':');
  const bool has_port = colon != std::string_view::npos && !authority.ends_with(']');
  return std::string{authority.substr(0, has_port ? colon : authority.size())};
}

std::string resolve_url(std::string_view base, std::string_view reference) {
  const std::string_view origin = raw_origin(base);
  if (is_absolute(reference)) return std::string{reference};
  if (reference.starts_with("//")) {
    return fmt::format("{}:{}", split_once(base, ':').first, reference);
  }
  if (reference.starts_with('/')) return fmt::format("{}{}", origin, reference);
  const std::string_view path = base.substr(0, base.find_first_of("?#"));
  if (reference.starts_with('?')) return fmt::format("{}{}", path, reference);
  const size_t slash = path.rfind('/');
  const bool has_path = slash != std::string_view::npos && slash >= origin.size();
  return fmt::format("{}/{}", has_path ? path.substr(0, slash) : origin, reference);
}

std::string percent_encode(std::string_view text) {
  std::string encoded;
  for (const char c : text) {
    const bool is_unreserved = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                               (c >= '0' && c <= '9') ||
                               std::string_view{"-._~"}.find(c) != std::string_view::npos;
    if (is_unreserved)
      encoded += c;
    else
      encoded += "%" + to_upper(to_hex({&c, 1}));
  }
  return encoded;
}

bool is_loopback(std::string_view host) {
  if (const size_t scheme = host.find(scheme_end); scheme != std::string_view::npos) {
    host.remove_prefix(scheme + scheme_end.size());
  }
  if (host.starts_with("[::1]")) return true;
  const std::string name = to_lower(split_once(host, ':').first);
  if (name == "localhost") return true;
  const auto parts = split(name, '.');
  return parts.size() == 4 && parts.front() == "127" &&
         std::ranges::all_of(parts, [](std::string_view part) {
           // With a zero before it some read it as octal.
           const bool is_plain = part == "0" || !part.starts_with('0');
           return is_plain && parse_number(part).value_or(256) < 256;
         });
}

}  // namespace sparkrun::oci
