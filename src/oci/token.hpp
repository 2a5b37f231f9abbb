// SPDX-License-Identifier: MIT
#pragma once

#include "oci/challenge.hpp"
#include "oci/credentials.hpp"
#include "oci/reference.hpp"
#include "sys/http.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace sparkrun::oci {

// Where tokens for one repository come from, as the first challenge said it. Some registries name
// another realm once a token has expired, which anonymous clients cannot use
// (nvidia-container-toolkit#1945): the first one stays.
struct Realm {
  std::string url;
  std::string query;  // `scope=..&service=..`
};

// `url` is that of the request that was challenged; a realm may be relative to it. We ask for no
// more than to pull, whatever the challenge proposes (GitLab refuses more to those who may only
// read).
Realm realm_of(const Challenge& challenge, std::string_view url, const Reference& reference);

// Fetching one Bearer token: with the identity token, with the password, as anybody; the next way
// where one is refused or not offered. Without I/O. Sources: distribution, docs/spec/auth/token.md
// and oauth.md.
class TokenFetch {
 public:
  TokenFetch(Realm realm, Credential credential);

  // The request to be sent now.
  [[nodiscard]] sys::HttpRequest request() const;

  enum class Outcome { token, next_way, refused, failed };
  // `next_way`: request() has changed and is to be sent.
  Outcome on_answer(const sys::HttpResponse& response);

  [[nodiscard]] const std::string& token() const { return token_; }
  // Whether the token is that of the stored login.
  [[nodiscard]] bool is_logged_in() const { return way_ != Way::anonymous; }
  // Whether the stored login was turned down on the way.
  [[nodiscard]] bool is_login_refused() const { return is_login_refused_; }
  // For messages.
  [[nodiscard]] std::string endpoint() const;

 private:
  enum class Way { identity, password, anonymous };

  Realm realm_;
  Credential credential_;
  Way way_;
  bool is_login_refused_ = false;
  std::string token_;
};

}  // namespace sparkrun::oci
