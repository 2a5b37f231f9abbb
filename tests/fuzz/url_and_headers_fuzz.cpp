// SPDX-License-Identifier: MIT
#include "base/text.hpp"
#include "fuzz/support.hpp"
#include "oci/exchange.hpp"
#include "oci/url.hpp"
#include "sys/address.hpp"

#include <curl/curl.h>

#include <memory>

// Four lines: a URL, a Location that it answers with, a Retry-After, a Date. Whether credentials
// may go along is decided by our own reading of a URL, so it must lead to where libcurl goes.
namespace sparkrun::fuzz {
namespace {

constexpr std::chrono::seconds retry_longest = std::chrono::days{3650};

// Where libcurl would connect to.
struct Place {
  std::string scheme, host, port;
  bool operator==(const Place&) const = default;
};

// Nothing where libcurl refuses the URL.
std::optional<Place> place_of(const std::string& url) {
  const std::unique_ptr<CURLU, decltype(&curl_url_cleanup)> parsed{curl_url(), curl_url_cleanup};
  if (curl_url_set(parsed.get(), CURLUPART_URL, url.c_str(), CURLU_NON_SUPPORT_SCHEME) !=
      CURLUE_OK) {
    return std::nullopt;
  }
  const auto part = [&](CURLUPart which) {
    char* text = nullptr;
    if (curl_url_get(parsed.get(), which, &text, CURLU_DEFAULT_PORT) != CURLUE_OK)
      return std::string{};
    const std::unique_ptr<char, decltype(&curl_free)> owner{text, curl_free};
    return to_lower(text);
  };
  return Place{part(CURLUPART_SCHEME), part(CURLUPART_HOST), part(CURLUPART_PORT)};
}

bool is_web(std::string_view url) {
  const std::string origin = oci::origin_of(url);
  return origin.starts_with("https://") || origin.starts_with("http://");
}

void check_origin(const std::string& url) {
  const std::string origin = oci::origin_of(url);
  expect(origin == to_lower(origin), "an origin has no case");
  if (!is_web(url)) return;
  const auto place = place_of(url), of_origin = place_of(origin);
  expect(!place || !of_origin || *place == *of_origin, "an origin is where libcurl goes");
  for (const std::string rest : {"/x", "?x", "#x", "/://evil.test", "/@evil.test"}) {
    expect(oci::origin_of(origin + rest) == oci::origin_of(origin), "a path is not of the origin");
  }
  const std::string authority{oci::authority_of(origin)};
  if (!place || authority.find('@') != std::string::npos || !oci::is_loopback(authority)) return;
  expect(place->host == "localhost" ||
             (sys::is_address(place->host) && !sys::is_public_address(place->host)),
         "what counts as this machine is it");
}

void check_resolved(const std::string& base, const std::string& reference) {
  const std::string resolved = oci::resolve_url(base, reference);
  check_origin(resolved);
  if (!is_web(base)) return;
  if (reference.starts_with('?') || (reference.starts_with('/') && !reference.starts_with("//"))) {
    expect(oci::origin_of(resolved) == oci::origin_of(base), "a path stays with its origin");
  }
  expect(oci::resolve_url(base, resolved) == resolved, "an absolute URL stays what it is");
}

// The request that follows the redirect, unless it is refused.
std::optional<sys::HttpRequest> redirected(const std::string& base, const std::string& location) {
  oci::Certificates certificates;
  const oci::RegistryOptions options;
  oci::Exchange exchange{options, certificates};
  const std::string origin = oci::origin_of(base);
  exchange.go_to(std::string{oci::authority_of(origin)}, origin);
  const auto begun = outcome_of({"registry.failed"}, [&] {
    return exchange.begin({.url = base, .headers = {{"Authorization", "Bearer t0k"}}});
  });
  if (std::holds_alternative<Error>(begun)) return std::nullopt;
  const auto outcome = exchange.on_response({.status = 302, .headers = {{"Location", location}}});
  const auto* const step = std::get_if<sys::HttpStep>(&outcome);
  if (step == nullptr) return std::nullopt;
  return std::get<sys::HttpRequest>(*step);
}

void check_redirect(const std::string& base, const std::string& location) {
  const auto request = redirected(base, location);
  if (!request) return;
  const auto from = place_of(base), to = place_of(request->url);
  if (!from || !to) return;
  expect(to->scheme == "https" || (to->scheme == "http" && from->scheme == "http"),
         "no redirect leaves TLS");
  expect(request->headers.empty() || *to == *from, "an Authorization stays with its origin");
  const bool was_private = oci::is_loopback(from->host) ||
                           (sys::is_address(from->host) && !sys::is_public_address(from->host));
  expect(*to == *from || was_private || request->is_public_only, "no redirect leads inside");
}

void check_retry_after(const std::string& text, const std::string& date) {
  const auto wait = oci::retry_after({.headers = {{"Retry-After", text}, {"Date", date}}});
  expect(!wait || (wait->count() >= 0 && *wait <= retry_longest), "a wait is bounded");
  const auto seconds = parse_number(trim(text));
  expect(!seconds || wait == std::min(std::chrono::seconds{*seconds}, retry_longest),
         "a number is of seconds");
}

void check_encoding(const std::string& text) {
  const std::string encoded = oci::percent_encode(text);
  expect(encoded.find_first_of("/?#&=:@ \t\r") == std::string::npos, "no part becomes another");
  int length = 0;
  const std::unique_ptr<char, decltype(&curl_free)> decoded{
      curl_easy_unescape(nullptr, encoded.data(), static_cast<int>(encoded.size()), &length),
      curl_free};
  expect(std::string_view(decoded.get(), static_cast<size_t>(length)) == text, "it decodes");
}

}  // namespace

void try_input(std::string_view input) {
  if (input.find('\0') != std::string_view::npos) return;  // libcurl lets none through
  std::vector<std::string> lines;
  for (const std::string_view line : split(input, '\n')) lines.emplace_back(trim(line));
  lines.resize(4);
  check_origin(lines[0]);
  check_resolved(lines[0], lines[1]);
  check_redirect(lines[0], lines[1]);
  check_retry_after(lines[2], lines[3]);
  check_encoding(lines[1]);
}

}  // namespace sparkrun::fuzz
