// SPDX-License-Identifier: MIT
#include "oci/token.hpp"

#include "base/json_value.hpp"
#include "base/text.hpp"
#include "oci/url.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sparkrun::oci {
namespace {

constexpr size_t token_bytes_max = size_t{256} << 10;

// RFC 6750 allows no more than visible characters, and nothing else may get into a header.
bool is_token(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c > ' ' && c < '\x7f'; });
}

// `repository:NAME:pull`, with the name as the registry knows it (behind a proxy it is another one)
// where the challenge proposes one.
std::string pull_scope(std::string_view proposed, const Reference& reference) {
  constexpr std::string_view prefix = "repository:";
  const size_t end = proposed.rfind(':');
  const bool is_of_one_repository = proposed.starts_with(prefix) && end > prefix.size() &&
                                    proposed.find(' ') == std::string_view::npos;
  return fmt::format("{}:pull", is_of_one_repository
                                    ? proposed.substr(0, end)
                                    : fmt::format("{}{}", prefix, reference.repository()));
}

}  // namespace

Realm realm_of(const Challenge& challenge, std::string_view url, const Reference& reference) {
  Realm realm{.url = resolve_url(url, challenge.value("realm")),
              .query = "scope=" + percent_encode(pull_scope(challenge.value("scope"), reference))};
  if (const std::string service = challenge.value("service"); !service.empty()) {
    realm.query += "&service=" + percent_encode(service);
  }
  return realm;
}

TokenFetch::TokenFetch(Realm realm, Credential credential)
    : realm_(std::move(realm)),
      credential_(std::move(credential)),
      way_(!credential_.identity_token.empty() ? Way::identity
           : credential_.has_password()        ? Way::password
                                               : Way::anonymous) {}

sys::HttpRequest TokenFetch::request() const {
  sys::HttpRequest request{.url = realm_.url};
  request.limits.body_bytes_max = token_bytes_max;
  if (way_ == Way::identity) {
    request.method = "POST";
    request.headers.emplace_back("Content-Type", "application/x-www-form-urlencoded");
    request.body = fmt::format("grant_type=refresh_token&client_id=sparkrun&refresh_token={}&{}",
                               percent_encode(credential_.identity_token), realm_.query);
    return request;
  }
  request.url += (realm_.url.find('?') == std::string::npos ? "?" : "&") + realm_.query;
  if (way_ == Way::password) request.headers.emplace_back("Authorization", credential_.basic());
  return request;
}

TokenFetch::Outcome TokenFetch::on_answer(const sys::HttpResponse& response) {
  const int status = response.status;
  if (way_ == Way::identity && (status == 404 || status == 405)) {
    way_ = credential_.has_password() ? Way::password : Way::anonymous;
    return Outcome::next_way;
  }
  if ((status == 400 || status == 401 || status == 403) && way_ != Way::anonymous) {
    // A stale password must not keep anyone from a public image.
    is_login_refused_ = true;
    way_ = Way::anonymous;
    return Outcome::next_way;
  }
  if (status == 401 || status == 403) return Outcome::refused;
  if (status != 200) return Outcome::failed;
  const auto json = parse_json(response.body);
  if (!json) return Outcome::failed;
  token_ = string_or(*json, "token");
  if (token_.empty()) token_ = string_or(*json, "access_token");
  return is_token(token_) ? Outcome::token : Outcome::failed;
}

std::string TokenFetch::endpoint() const { return printable(origin_of(realm_.url)); }

}  // namespace sparkrun::oci
