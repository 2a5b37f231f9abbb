// SPDX-License-Identifier: MIT
#include "oci/token.hpp"

#include "base/base64.hpp"

#include <gtest/gtest.h>

namespace sparkrun::oci {
namespace {

using Outcome = TokenFetch::Outcome;

const Realm realm{.url = "https://auth.test/token", .query = "scope=s"};
const std::string token_json = R"({"token":"t0k"})";

sys::HttpResponse answer(int status, const std::string& body = "") {
  return {.status = status, .body = body};
}

TEST(TokenFetch, AsksAsAnybodyWithoutALogin) {
  TokenFetch fetch{realm, {}};

  EXPECT_EQ(fetch.request().url, "https://auth.test/token?scope=s");
  EXPECT_TRUE(fetch.request().headers.empty());
  EXPECT_EQ(fetch.on_answer(answer(200, token_json)), Outcome::token);
  EXPECT_EQ(fetch.token(), "t0k");
  EXPECT_FALSE(fetch.is_logged_in());
}

TEST(TokenFetch, GoesFromOneWayToTheNext) {
  TokenFetch fetch{realm, {.username = "u", .password = "p", .identity_token = "i"}};

  EXPECT_EQ(fetch.request().method, "POST");
  EXPECT_EQ(fetch.on_answer(answer(405)), Outcome::next_way);
  EXPECT_FALSE(fetch.is_login_refused());
  EXPECT_EQ(fetch.request().headers.at(0).second, "Basic " + to_base64("u:p"));
  EXPECT_EQ(fetch.on_answer(answer(401)), Outcome::next_way);
  EXPECT_TRUE(fetch.is_login_refused());
  EXPECT_TRUE(fetch.request().headers.empty());
  EXPECT_EQ(fetch.on_answer(answer(403)), Outcome::refused);
}

// containerd#8735, ggcr#54: only a token is needed, under either name; its times are not looked at.
TEST(TokenFetch, TakesATokenUnderEitherNameAndNoOtherMember) {
  for (const std::string body :
       {R"({"token":"t"})", R"({"access_token":"t"})", R"({"token":"t","access_token":"u"})",
        R"({"token":"","access_token":"t"})", R"({"token":"t","issued_at":"2090-01-01T00:00:00Z"})",
        R"({"token":"t","expires_in":-5})"}) {
    TokenFetch fetch{realm, {}};
    EXPECT_EQ(fetch.on_answer(answer(200, body)), Outcome::token) << body;
    EXPECT_EQ(fetch.token(), "t") << body;
  }
}

TEST(TokenFetch, FailsWithoutAToken) {
  for (const std::string body : {"", "t0k", "{}", R"({"token":5})", R"({"token":"a b"})"}) {
    TokenFetch fetch{realm, {}};
    EXPECT_EQ(fetch.on_answer(answer(200, body)), Outcome::failed) << body;
  }
  TokenFetch fetch{realm, {}};
  EXPECT_EQ(fetch.on_answer(answer(500, token_json)), Outcome::failed);
}

}  // namespace
}  // namespace sparkrun::oci
