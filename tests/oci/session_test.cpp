// SPDX-License-Identifier: MIT
#include "oci/session.hpp"

#include "base/base64.hpp"
#include "oci/registry.hpp"
#include "support/fake_http.hpp"
#include "support/fake_image.hpp"
#include "support/fake_processes.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace sparkrun::oci {
namespace {

using test::FakeHttp;

const std::string tag_url = "https://reg.test/v2/team/app/manifests/1";
const std::string scope_query = "scope=repository%3Ateam%2Fapp%3Apull";
const std::string token_url = "https://auth.test/token?" + scope_query + "&service=reg";
const std::string index_json =
    test::make_index({test::child_json(test::make_image("linux/arm64"))});
const std::string stored_login = "Basic " + to_base64("me:hunter2");

Credentials credentials(const std::string& text) {
  static test::FakeProcesses no_helpers;
  return {{CredentialFile::parse(text, "config.json")}, no_helpers, std::chrono::seconds{1}};
}

Credentials stored(const std::string& members) {
  return credentials(R"({"auths":{"reg.test":{)" + members + "}}}");
}

Credentials password() { return stored(R"("username":"me","password":"hunter2")"); }

ResolveResult resolve(FakeHttp& http, const Credentials& credentials = {},
                      const RegistryOptions& options = {},
                      const std::string& reference = "reg.test/team/app:1",
                      const Certificates& certificates = {}) {
  const std::vector<ResolveRequest> requests = {{.reference = Reference::parse(reference)}};
  return Registry{http, credentials, options, certificates}.resolve(requests).at(0);
}

// The user named a CA for all registries.
Certificates named_ca() { return {"", true, {}}; }

std::string error_id(const ResolveResult& result) {
  const auto* const error = std::get_if<Error>(&result);
  return error != nullptr ? std::string{error->id()} : "none";
}

std::string message(const ResolveResult& result) {
  const auto* const error = std::get_if<Error>(&result);
  return error != nullptr ? error->what() : "none";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// A registry that gives the index to whoever sends `authorization`.
void serve_to(FakeHttp& http, const std::string& authorization, FakeHttp::Headers challenge) {
  http.on(tag_url).reply(401, "", std::move(challenge));
  http.on(tag_url).with("Authorization", authorization).reply(200, index_json);
}

TEST(Session, AsksAnOpenRegistryOnceAndWithoutPing) {
  FakeHttp http;
  http.on(tag_url).reply(200, index_json);

  const auto result = resolve(http);

  EXPECT_EQ(std::get<Resolved>(result).digest, Digest::sha256_of(index_json));
  EXPECT_EQ(http.urls(), (std::vector<std::string>{tag_url}));
}

TEST(Session, FetchesATokenWhenChallenged) {
  FakeHttp http;
  serve_to(http, "Bearer t0k", test::bearer_challenge("https://auth.test/token"));
  http.on(token_url).reply(200, R"({"token":"t0k"})");

  const auto result = resolve(http);

  EXPECT_EQ(std::get<Resolved>(result).requests, 3);
  EXPECT_EQ(http.urls(), (std::vector<std::string>{tag_url, token_url, tag_url}));
}

// Each row is a way in which some registry words its challenge.
TEST(Session, UnderstandsTheChallengesThatRegistriesSend) {
  const std::string bare = "https://auth.test/token?" + scope_query;
  struct Row {
    FakeHttp::Headers challenge;
    std::string token_url;
  };
  const auto one = [](const std::string& value) {
    return FakeHttp::Headers{{"WWW-Authenticate", value}};
  };
  const std::vector<Row> rows = {
      {one(R"(Bearer realm="https://auth.test/token")"), bare},
      {one(R"(Bearer realm="https://auth.test/token",scope="")"), bare},
      {one(R"(Bearer realm="https://auth.test/token",scope="repository:team/app:pull,push")"),
       bare},
      {one(R"(Bearer realm="https://auth.test/token",scope="repository:hub/team/app:pull")"),
       "https://auth.test/token?scope=repository%3Ahub%2Fteam%2Fapp%3Apull"},
      {one(R"(Bearer realm="https://auth.test/token",scope="registry:catalog:*")"), bare},
      {one("bearer realm=https://auth.test/token,service=reg"), token_url},
      {one(R"(BEARER Realm="https://auth.test/token", service="a, b")"),
       bare + "&service=a%2C%20b"},
      {one(R"(Basic realm="x", Bearer realm="https://auth.test/token",service="reg")"), token_url},
      {one(R"(Bearer realm="/token",service="reg")"),
       "https://reg.test/token?" + scope_query + "&service=reg"},
      {one(R"(Bearer realm="/")"), "https://reg.test/?" + scope_query},
      {one(R"(Bearer realm="https://auth.test/token?a=b")"),
       "https://auth.test/token?a=b&" + scope_query},
      {{{"WWW-Authenticate", "Negotiate"},
        {"Www-Authenticate", R"(Bearer realm="https://auth.test/token")"}},
       bare},
      {{{"WWW-Authenticate", R"(Basic realm="x")"},
        {"WWW-Authenticate", R"(Bearer realm="https://auth.test/token")"}},
       bare},
  };
  for (const Row& row : rows) {
    FakeHttp http;
    serve_to(http, "Bearer t0k", row.challenge);
    http.on(row.token_url).reply(200, R"({"access_token":"t0k"})");

    EXPECT_EQ(error_id(resolve(http)), "none") << row.challenge.back().second;
  }
}

TEST(Session, AsksForOneTokenForManyReferencesOfARepository) {
  FakeHttp http;
  std::vector<ResolveRequest> requests;
  for (const std::string tag : {"1", "2", "3"}) {
    const std::string url = "https://reg.test/v2/team/app/manifests/" + tag;
    http.on(url).reply(401, "", test::bearer_challenge("https://auth.test/token"));
    http.on(url).with("Authorization", "Bearer t0k").reply(200, index_json);
    requests.push_back({.reference = Reference::parse("reg.test/team/app:" + tag)});
  }
  http.on(token_url).reply(200, R"({"token":"t0k"})");

  const auto results = Registry{http, {}, {}}.resolve(requests);

  for (const auto& result : results) EXPECT_EQ(error_id(result), "none");
  EXPECT_EQ(http.count(token_url), 1);
  EXPECT_EQ(http.requests().size(), 5U);
}

TEST(Session, AsksForATokenForEachRepository) {
  FakeHttp http;
  std::vector<ResolveRequest> requests;
  for (const std::string name : {"a", "b"}) {
    const std::string url = "https://reg.test/v2/" + name + "/manifests/1";
    http.on(url).reply(401, "", test::bearer_challenge("https://auth.test/token"));
    http.on(url).with("Authorization", "Bearer " + name).reply(200, index_json);
    http.on("https://auth.test/token?scope=repository%3A" + name + "%3Apull&service=reg")
        .reply(200, R"({"token":")" + name + "\"}");
    requests.push_back({.reference = Reference::parse("reg.test/" + name + ":1")});
  }

  for (const auto& result : Registry(http, {}, {}).resolve(requests)) {
    EXPECT_EQ(error_id(result), "none");
  }
}

TEST(Session, DoesNotAskAnUnreachableRegistryForEachReference) {
  FakeHttp http;
  http.on(tag_url).fail(sys::HttpFault::resolve);
  const std::vector<ResolveRequest> requests = {
      {.reference = Reference::parse("reg.test/team/app:1")},
      {.reference = Reference::parse("reg.test/team/app:2")},
      {.reference = Reference::parse("reg.test/team/app:3")}};

  for (const auto& result : Registry(http, {}, {}).resolve(requests)) {
    EXPECT_EQ(error_id(result), "registry.unreachable");
  }
  EXPECT_EQ(http.requests().size(), 3U);  // the tries of the first one
}

TEST(Session, SendsThePasswordToTheTokenEndpointOnly) {
  FakeHttp http;
  serve_to(http, "Bearer t0k", test::bearer_challenge("https://auth.test/token"));
  http.on(token_url).with("Authorization", stored_login).reply(200, R"({"token":"t0k"})");

  EXPECT_EQ(error_id(resolve(http, password())), "none");
  EXPECT_EQ(http.requests().at(0).headers.size(), 1U);
}

TEST(Session, LogsInWithBasicWhereThatIsOffered) {
  FakeHttp http;
  serve_to(http, stored_login, {{"WWW-Authenticate", R"(Basic realm="reg")"}});

  EXPECT_EQ(error_id(resolve(http, password())), "none");
  EXPECT_EQ(http.requests().size(), 2U);
}

TEST(Session, NeedsALoginWhereBasicIsOfferedAndThereIsNoPassword) {
  FakeHttp http;
  serve_to(http, stored_login, {{"WWW-Authenticate", R"(Basic realm="reg")"}});

  const auto result = resolve(http);

  EXPECT_EQ(error_id(result), "registry.login_needed");
  EXPECT_EQ(std::get<Error>(result).hint().find("run `docker login reg.test`"), 0U);
}

TEST(Session, UsesAStoredRegistryTokenAsItIs) {
  FakeHttp http;
  serve_to(http, "Bearer r3g", test::bearer_challenge("https://auth.test/token"));

  EXPECT_EQ(error_id(resolve(http, stored(R"("registrytoken":"r3g")"))), "none");
  EXPECT_EQ(http.requests().size(), 2U);
}

TEST(Session, PostsAStoredIdentityToken) {
  FakeHttp http;
  serve_to(http, "Bearer t0k", test::bearer_challenge("https://auth.test/token"));
  http.on("https://auth.test/token").with_method("POST").reply(200, R"({"access_token":"t0k"})");

  EXPECT_EQ(error_id(resolve(http, stored(R"("identitytoken":"i/d")"))), "none");
  EXPECT_EQ(http.requests().at(1).body,
            "grant_type=refresh_token&client_id=sparkrun&refresh_token=i%2Fd&" + scope_query +
                "&service=reg");
}

TEST(Session, GetsATokenWhereNoneCanBePosted) {
  for (const int status : {404, 405}) {
    FakeHttp http;
    serve_to(http, "Bearer t0k", test::bearer_challenge("https://auth.test/token"));
    http.on("https://auth.test/token").with_method("POST").reply(status);
    http.on(token_url).with("Authorization", stored_login).reply(200, R"({"token":"t0k"})");

    const auto both = stored(R"("identitytoken":"i","username":"me","password":"hunter2")");
    EXPECT_EQ(error_id(resolve(http, both)), "none");
  }
}

TEST(Session, TriesOnceAsAnybodyWhenTheTokenEndpointRefusesTheStoredPassword) {
  FakeHttp http;
  serve_to(http, "Bearer t0k", test::bearer_challenge("https://auth.test/token"));
  http.on(token_url).reply(200, R"({"token":"t0k"})");
  http.on(token_url).with("Authorization", stored_login).reply(401);

  const auto result = resolve(http, password());

  ASSERT_EQ(error_id(result), "none");
  EXPECT_EQ(std::get<Resolved>(result).requests, 4);
  EXPECT_EQ(std::get<Resolved>(result).warnings.size(), 1U);
}

TEST(Session, CallsCredentialsRefusedWhenAnybodyIsRefusedToo) {
  for (const int status : {401, 403}) {
    FakeHttp http;
    http.on(tag_url).reply(401, "", test::bearer_challenge("https://auth.test/token"));
    http.on(tag_url).with("Authorization", "Bearer t0k").reply(status);
    http.on(token_url).reply(200, R"({"token":"t0k"})");
    http.on(token_url).with("Authorization", stored_login).reply(401);

    EXPECT_EQ(error_id(resolve(http, password())), "registry.credentials_refused");
  }
}

TEST(Session, TellsNoLoginARefusedLoginAndADeniedOneApart) {
  const auto outcome = [](int status, const Credentials& credentials) {
    FakeHttp http;
    http.on(tag_url).reply(401, "", test::bearer_challenge("https://auth.test/token"));
    http.on(tag_url).with("Authorization", "Bearer t0k").reply(status);
    http.on(token_url).reply(200, R"({"token":"t0k"})");
    return error_id(resolve(http, credentials));
  };

  EXPECT_EQ(outcome(401, {}), "registry.login_needed");
  EXPECT_EQ(outcome(401, password()), "registry.credentials_refused");
  EXPECT_EQ(outcome(403, {}), "registry.denied");
  EXPECT_EQ(outcome(403, password()), "registry.denied");
}

// ghcr.io answers so for private and for unknown packages.
TEST(Session, NeedsALoginWhenTheTokenEndpointDeniesAnybody) {
  FakeHttp http;
  http.on(tag_url).reply(401, "", test::bearer_challenge("https://auth.test/token"));
  http.on(token_url).reply(
      403, R"({"errors":[{"code":"DENIED","message":"requested access is denied"}]})");

  const auto result = resolve(http);

  EXPECT_EQ(error_id(result), "registry.login_needed");
  EXPECT_TRUE(contains(message(result), "DENIED: requested access is denied"));
}

TEST(Session, IsDeniedByA401ThatDoesNotSayHow) {
  FakeHttp http;
  http.on(tag_url).reply(401, "", {{"WWW-Authenticate", ""}});

  EXPECT_EQ(error_id(resolve(http)), "registry.denied");
}

TEST(Session, FailsWhenTheTokenEndpointFails) {
  const auto outcome = [](int status, const std::string& body) {
    FakeHttp http;
    http.on(tag_url).reply(401, "", test::bearer_challenge("https://auth.test/token"));
    http.on(token_url).reply(status, body);
    return error_id(resolve(http));
  };

  EXPECT_EQ(outcome(500, ""), "registry.failed");
  EXPECT_EQ(outcome(404, ""), "registry.failed");
  EXPECT_EQ(outcome(429, ""), "registry.rate_limited");
  EXPECT_EQ(outcome(200, ""), "registry.failed");
  EXPECT_EQ(outcome(200, "{}"), "registry.failed");
  EXPECT_EQ(outcome(200, R"({"token":""})"), "registry.failed");
  EXPECT_EQ(outcome(200, R"({"token":"a\r\nX-Evil: 1"})"), "registry.failed");
}

TEST(Session, NamesTheTokenEndpointThatCannotBeReached) {
  FakeHttp http;
  http.on(tag_url).reply(401, "", test::bearer_challenge("https://auth.test/token"));
  http.on(token_url).fail(sys::HttpFault::connect);

  const auto result = resolve(http);

  EXPECT_EQ(error_id(result), "registry.unreachable");
  EXPECT_TRUE(contains(message(result), "https://auth.test"));
}

TEST(Session, SendsNoCredentialsToARealmWithoutTls) {
  FakeHttp http;
  http.on(tag_url).reply(401, "", test::bearer_challenge("http://169.254.169.254/token"));

  EXPECT_EQ(error_id(resolve(http, password())), "registry.failed");
  EXPECT_EQ(http.requests().size(), 1U);
}

TEST(Session, NeverPrintsASecret) {
  FakeHttp http;
  http.on(tag_url).reply(401, "", test::bearer_challenge("https://auth.test/token"));
  http.on(token_url).reply(403, "no");

  EXPECT_FALSE(contains(message(resolve(http, password())), "hunter2"));
}

TEST(Session, DoesNotRepeatASecretThatTheServerEchoes) {
  FakeHttp http;
  http.on(tag_url).reply(401, "", {{"WWW-Authenticate", R"(Basic realm="reg")"}});
  http.on(tag_url)
      .with("Authorization", stored_login)
      .reply(403, "you sent " + stored_login + ", which is me:hunter2");

  const std::string text = message(resolve(http, password()));

  EXPECT_FALSE(contains(text, "hunter2")) << text;
  EXPECT_FALSE(contains(text, stored_login.substr(6))) << text;
  EXPECT_TRUE(contains(text, "you sent")) << text;
}

TEST(Session, RedactsASecretThatIsPartOfTheWordForIt) {
  FakeHttp http;
  http.on(tag_url).reply(401, "", {{"WWW-Authenticate", R"(Basic realm="reg")"}});
  http.on(tag_url)
      .with("Authorization", "Basic " + to_base64("me:redact"))
      .reply(403, "redact and redact");

  const std::string text = message(resolve(http, stored(R"("username":"me","password":"redact")")));

  EXPECT_TRUE(contains(text, "[redacted] and [redacted]")) << text;
}

TEST(Session, MapsWhatGoesWrongToErrors) {
  const auto by_status = [](int status, const std::string& body = "",
                            FakeHttp::Headers headers = {}) {
    FakeHttp http;
    http.on(tag_url).reply(status, body, std::move(headers));
    return resolve(http);
  };
  const auto by_fault = [](sys::HttpFault fault) {
    FakeHttp http;
    http.on(tag_url).fail(fault);
    return error_id(resolve(http));
  };

  EXPECT_EQ(error_id(by_status(404)), "registry.not_found");
  EXPECT_EQ(error_id(by_status(404, "<html>")), "registry.not_a_registry");
  EXPECT_EQ(error_id(by_status(403)), "registry.denied");
  EXPECT_EQ(error_id(by_status(429)), "registry.rate_limited");
  EXPECT_EQ(error_id(by_status(400)), "registry.failed");
  EXPECT_EQ(error_id(by_status(503)), "registry.failed");
  EXPECT_EQ(error_id(by_status(302)), "registry.failed");
  EXPECT_EQ(by_fault(sys::HttpFault::resolve), "registry.unreachable");
  EXPECT_EQ(by_fault(sys::HttpFault::connect), "registry.unreachable");
  EXPECT_EQ(by_fault(sys::HttpFault::timeout), "registry.timeout");
  EXPECT_EQ(by_fault(sys::HttpFault::tls), "registry.tls");
  EXPECT_EQ(by_fault(sys::HttpFault::too_large), "registry.not_a_registry");
  EXPECT_EQ(by_fault(sys::HttpFault::redirect), "registry.failed");
  EXPECT_EQ(by_fault(sys::HttpFault::protocol), "registry.failed");
}

TEST(Session, NamesRegistryRepositoryAndTagThatDoNotExist) {
  FakeHttp http;
  http.on(tag_url).reply(
      404, R"({"errors":[{"code":"MANIFEST_UNKNOWN","message":"manifest unknown"}]})");

  EXPECT_EQ(
      message(resolve(http)),
      "registry reg.test does not have team/app:1 (HTTP 404, MANIFEST_UNKNOWN: manifest unknown)");
}

TEST(Session, SaysWhenARateLimitEnds) {
  FakeHttp http;
  http.on(tag_url).reply(429, "", {{"Retry-After", "3600"}});

  EXPECT_TRUE(contains(message(resolve(http)), "retry after 3600 s"));
  EXPECT_EQ(std::get<Error>(resolve(http)).details().at("retry_after_seconds"), "3600");
}

TEST(Session, BoundsAndCleansWhatRegistriesSay) {
  FakeHttp http;
  http.on(tag_url).reply(500, "\x1b[31m" + std::string(100'000, 'x'));

  EXPECT_LT(message(resolve(http)).size(), 400U);
  EXPECT_FALSE(contains(message(resolve(http)), "\x1b"));
}

const std::string local_path = "://127.0.0.1:5000/v2/app/manifests/1";

TEST(Session, ChangesToHttpsWhenALocalServerSaysSo) {
  FakeHttp http;
  http.on("http" + local_path).reply(400, "Client sent an HTTP request to an HTTPS server.\n");
  http.on("https" + local_path).reply(200, index_json);

  EXPECT_EQ(error_id(resolve(http, {}, {}, "127.0.0.1:5000/app:1")), "none");
}

TEST(Session, ChangesToHttpWhenALocalServerCannotSpeakTls) {
  for (const auto fault :
       {sys::HttpFault::tls, sys::HttpFault::connect, sys::HttpFault::protocol}) {
    FakeHttp http;
    http.on("https" + local_path).fail(fault);
    http.on("http" + local_path).reply(200, index_json);

    EXPECT_EQ(error_id(resolve(http, {}, {}, "127.0.0.1:5000/app:1", named_ca())), "none");
  }
}

TEST(Session, BlamesTlsWhenALocalServerSpeaksItAndIsNotTrusted) {
  FakeHttp http;
  http.on("https" + local_path).fail(sys::HttpFault::tls, "self-signed certificate");
  http.on("http" + local_path).reply(400, "Client sent an HTTP request to an HTTPS server.\n");

  const auto result = resolve(http, {}, {}, "127.0.0.1:5000/app:1", named_ca());

  EXPECT_EQ(error_id(result), "registry.tls");
  EXPECT_TRUE(contains(message(result), "self-signed certificate"));
}

// A connection that breaks may mean that TLS is wanted; where it is not, it was just broken.
TEST(Session, ComesBackToHttpWhenALocalServerSpeaksNoTlsEither) {
  FakeHttp http;
  http.on("http" + local_path).fail(sys::HttpFault::protocol).reply(503).reply(200, index_json);
  http.on("https" + local_path).fail(sys::HttpFault::tls);

  EXPECT_EQ(error_id(resolve(http, {}, {}, "127.0.0.1:5000/app:1")), "none");
  EXPECT_EQ(http.requests().size(), 4U);

  FakeHttp broken;
  broken.on("http" + local_path).fail(sys::HttpFault::protocol, "cut off");
  broken.on("https" + local_path).fail(sys::HttpFault::tls);

  const auto result = resolve(broken, {}, {}, "127.0.0.1:5000/app:1");
  EXPECT_EQ(error_id(result), "registry.failed");
  EXPECT_TRUE(contains(message(result), "cut off"));
}

TEST(Session, NeverChangesToHttpForAnotherMachine) {
  FakeHttp http;
  http.on(tag_url).fail(sys::HttpFault::tls);

  EXPECT_EQ(error_id(resolve(http, {}, {}, "reg.test/team/app:1", named_ca())), "registry.tls");
  EXPECT_EQ(http.requests().size(), 1U);
}

const std::string other_tag_url = "https://reg.test/v2/team/app/manifests/2";

// Resolves both tags of the repository, one after the other.
std::vector<ResolveResult> resolve_twice(FakeHttp& http, const Credentials& credentials = {}) {
  Registry registry{http, credentials, {}};
  std::vector<ResolveResult> results;
  for (const std::string tag : {"1", "2"}) {
    const std::vector<ResolveRequest> requests = {
        {.reference = Reference::parse("reg.test/team/app:" + tag)}};
    results.push_back(registry.resolve(requests).at(0));
  }
  return results;
}

TEST(Session, KeepsTheTokenForLater) {
  FakeHttp http;
  serve_to(http, "Bearer t0k", test::bearer_challenge("https://auth.test/token"));
  http.on(other_tag_url).with("Authorization", "Bearer t0k").reply(200, index_json);
  http.on(token_url).reply(200, R"({"token":"t0k"})");

  for (const auto& result : resolve_twice(http)) EXPECT_EQ(error_id(result), "none");
  EXPECT_EQ(http.count(token_url), 1);
}

// nvcr.io names another realm for expired tokens, which knows no anonymous clients
// (nvidia-container-toolkit#1945); ECR public answers 400 (oras-go#1227).
TEST(Session, RenewsATokenThatHasExpiredAtTheFirstRealm) {
  for (const int status : {401, 400}) {
    FakeHttp http;
    serve_to(http, "Bearer old", test::bearer_challenge("https://auth.test/token"));
    http.on(other_tag_url)
        .with("Authorization", "Bearer old")
        .reply(status, "", test::bearer_challenge("https://dead-end.test/token"));
    http.on(other_tag_url).with("Authorization", "Bearer new").reply(200, index_json);
    http.on(token_url).reply(200, R"({"token":"old"})").reply(200, R"({"token":"new"})");

    for (const auto& result : resolve_twice(http)) EXPECT_EQ(error_id(result), "none");
    EXPECT_EQ(http.count(token_url), 2);
  }
}

// What anybody may have says nothing of a token.
TEST(Session, DoesNotRenewATokenThatWasNeverGood) {
  FakeHttp http;
  http.on(tag_url).reply(200, index_json);
  http.on(other_tag_url).reply(401, "", test::bearer_challenge("https://auth.test/token"));
  http.on(token_url).reply(200, R"({"token":"t0k"})");

  EXPECT_EQ(error_id(resolve_twice(http).at(1)), "registry.login_needed");
  EXPECT_EQ(http.count(token_url), 1);
}

TEST(Session, RenewsATokenOnce) {
  FakeHttp http;
  serve_to(http, "Bearer t0k", test::bearer_challenge("https://auth.test/token"));
  http.on(other_tag_url).reply(401, "", test::bearer_challenge("https://auth.test/token"));
  http.on(token_url).reply(200, R"({"token":"t0k"})");

  EXPECT_EQ(error_id(resolve_twice(http).at(1)), "registry.login_needed");
  EXPECT_EQ(http.count(token_url), 2);
}

TEST(Session, RenewsATokenForAllWhoWaitForIt) {
  FakeHttp http;
  serve_to(http, "Bearer old", test::bearer_challenge("https://auth.test/token"));
  http.on(token_url).reply(200, R"({"token":"old"})").reply(200, R"({"token":"new"})");
  Registry registry{http, {}, {}};
  const std::vector<ResolveRequest> first = {
      {.reference = Reference::parse("reg.test/team/app:1")}};
  static_cast<void>(registry.resolve(first));
  std::vector<ResolveRequest> requests;
  for (const std::string tag : {"2", "3", "4"}) {
    const std::string url = "https://reg.test/v2/team/app/manifests/" + tag;
    http.on(url).reply(401, "", test::bearer_challenge("https://auth.test/token"));
    http.on(url).with("Authorization", "Bearer new").reply(200, index_json);
    requests.push_back({.reference = Reference::parse("reg.test/team/app:" + tag)});
  }

  for (const auto& result : registry.resolve(requests)) EXPECT_EQ(error_id(result), "none");
  EXPECT_EQ(http.count(token_url), 2);
}

TEST(Session, GoesOnAsAnybodyWhenAStoredRegistryTokenHasExpired) {
  FakeHttp http;
  serve_to(http, "Bearer t0k", test::bearer_challenge("https://auth.test/token"));
  http.on(token_url).reply(200, R"({"token":"t0k"})");

  const auto result = resolve(http, stored(R"("registrytoken":"stale")"));

  ASSERT_EQ(error_id(result), "none");
  EXPECT_EQ(std::get<Resolved>(result).warnings.size(), 1U);
}

TEST(Session, SaysWhoseLoginWasUsed) {
  FakeHttp http;
  serve_to(http, "Bearer t0k", test::bearer_challenge("https://auth.test/token"));
  http.on(token_url).with("Authorization", stored_login).reply(200, R"({"token":"t0k"})");

  EXPECT_EQ(std::get<Resolved>(resolve(http, password())).login, "config.json");
}

TEST(Session, EndsWithTheErrorOfAHelper) {
  FakeHttp http;
  serve_to(http, "Bearer t0k", test::bearer_challenge("https://auth.test/token"));

  EXPECT_EQ(error_id(resolve(http, credentials(R"({"credsStore":"gone"})"))),
            "credentials.helper_failed");
}

// go-containerregistry#2193, GHSA-vh4v-2xq2-g5cg: who can name a realm must not reach into the
// network of the client.
TEST(Session, FetchesNoTokenFromAPrivateAddress) {
  for (const std::string realm : {"https://169.254.169.254/token", "https://localhost/token",
                                  "https://[fd00::1]/token", "https://me:pw@auth.test/token"}) {
    FakeHttp http;
    http.on(tag_url).reply(401, "", test::bearer_challenge(realm)).from("8.8.8.8");

    EXPECT_EQ(error_id(resolve(http, password())), "registry.failed") << realm;
    EXPECT_EQ(http.requests().size(), 1U);
  }
}

TEST(Session, FetchesATokenFromAPublicAddressOnly) {
  const auto is_public_only = [](const std::string& address) {
    FakeHttp http;
    serve_to(http, "Bearer t0k", test::bearer_challenge("https://auth.test/token"));
    http.on(tag_url)
        .reply(401, "", test::bearer_challenge("https://auth.test/token"))
        .from(address);
    http.on(token_url).reply(200, R"({"token":"t0k"})");
    static_cast<void>(resolve(http));
    return http.requests().at(1).is_public_only;
  };

  EXPECT_TRUE(is_public_only("8.8.8.8"));
  EXPECT_FALSE(is_public_only("10.0.0.7"));  // the registry is there itself
}

TEST(Session, AsksMirrorsBeforeDockerHub) {
  FakeHttp http;
  http.on("http://mirror.test/v2/library/app/manifests/1").reply(200, index_json);

  const auto result = resolve(http, {}, {.hub_mirrors = {"http://mirror.test/"}}, "app:1");

  EXPECT_EQ(std::get<Resolved>(result).endpoint, "http://mirror.test");
  EXPECT_EQ(http.requests().size(), 1U);
}

TEST(Session, AsksDockerHubWhereAMirrorDoesNotHelp) {
  for (const int status : {401, 404, 429, 500, 200}) {
    FakeHttp http;
    http.on("https://mirror.test/v2/library/app/manifests/1").reply(status, "<html>");
    http.on("https://registry-1.docker.io/v2/library/app/manifests/1").reply(200, index_json);

    const auto result =
        resolve(http, {}, {.hub_mirrors = {"https://closed.test", "https://mirror.test"}}, "app:1");

    ASSERT_EQ(error_id(result), "none") << status;
    const auto& resolved = std::get<Resolved>(result);
    EXPECT_EQ(resolved.endpoint, "https://registry-1.docker.io");
    EXPECT_EQ(resolved.requests, 3);
    ASSERT_EQ(resolved.notes.size(), 2U);
    EXPECT_TRUE(contains(resolved.notes.at(1), "mirror mirror.test")) << resolved.notes.at(1);
  }
}

TEST(Session, AsksMirrorsForDockerHubOnly) {
  FakeHttp http;
  http.on(tag_url).reply(200, index_json);

  static_cast<void>(resolve(http, {}, {.hub_mirrors = {"https://mirror.test"}}));

  EXPECT_EQ(http.urls(), std::vector<std::string>{tag_url});
}

std::vector<ResolveRequest> of_repositories(const std::vector<std::string>& names) {
  std::vector<ResolveRequest> requests;
  for (const std::string& name : names) {
    requests.push_back({.reference = Reference::parse("reg.test/" + name + ":1")});
  }
  return requests;
}

TEST(Session, TriesAHostThatCannotBeReachedForOneRepositoryOnly) {
  FakeHttp http;

  for (const auto& result : Registry(http, {}, {}).resolve(of_repositories({"a", "b", "c"}))) {
    EXPECT_EQ(error_id(result), "registry.unreachable");
  }
  EXPECT_EQ(http.requests().size(), 3U);  // the tries of the first one
}

TEST(Session, TakesASlowTagForOneSlowTag) {
  FakeHttp http;
  http.on(tag_url).fail(sys::HttpFault::timeout, "silent").was_sent();
  http.on(other_tag_url).reply(200, index_json);
  const std::vector<ResolveRequest> requests = {
      {.reference = Reference::parse("reg.test/team/app:1")},
      {.reference = Reference::parse("reg.test/team/app:2")}};

  const auto results = Registry{http, {}, {}}.resolve(requests);

  EXPECT_EQ(error_id(results.at(0)), "registry.timeout");
  EXPECT_EQ(error_id(results.at(1)), "none");
}

TEST(Session, SendsALoginThatWasRefusedOnce) {
  FakeHttp http;
  for (const std::string name : {"a", "b"}) {
    const std::string url = "https://reg.test/v2/" + name + "/manifests/1";
    const std::string token =
        "https://auth.test/token?scope=repository%3A" + name + "%3Apull&service=reg";
    http.on(url).reply(401, "", test::bearer_challenge("https://auth.test/token"));
    http.on(url).with("Authorization", "Bearer t0k").reply(200, index_json);
    http.on(token).reply(200, R"({"token":"t0k"})");
    http.on(token).with("Authorization", stored_login).reply(401);
  }
  Registry registry{http, password(), {}};

  for (const std::string name : {"a", "b"}) {
    const auto requests = of_repositories({name});
    EXPECT_EQ(std::get<Resolved>(registry.resolve(requests).at(0)).warnings.size(), 1U);
  }
  EXPECT_EQ(std::ranges::count_if(http.requests(),
                                  [](const sys::HttpRequest& request) {
                                    return std::ranges::find(request.headers,
                                                             std::pair<std::string, std::string>{
                                                                 "Authorization", stored_login}) !=
                                           request.headers.end();
                                  }),
            1);
}

TEST(Session, ReadsTheBundleOfAllCasWhereTheFolderDoesNotKnowOne) {
  FakeHttp http;
  http.on(tag_url).fail(sys::HttpFault::untrusted).reply(200, index_json);

  EXPECT_EQ(error_id(resolve(http)), "none");
  EXPECT_FALSE(http.requests().at(0).tls.reads_bundle);
  EXPECT_TRUE(http.requests().at(1).tls.reads_bundle);
}

TEST(Session, DoesNotGoOnWithoutTlsWhereACertificateIsNotBelieved) {
  FakeHttp http;
  http.on("https" + local_path).fail(sys::HttpFault::untrusted);

  const auto result = resolve(http, {}, {}, "127.0.0.1:5000/app:1", named_ca());

  EXPECT_EQ(error_id(result), "registry.tls");
  EXPECT_EQ(http.count("http" + local_path), 0);
}

}  // namespace
}  // namespace sparkrun::oci
