// SPDX-License-Identifier: MIT
#include "oci/registry.hpp"

#include "support/fake_http.hpp"
#include "support/fake_image.hpp"

#include <gtest/gtest.h>

namespace sparkrun::oci {
namespace {

using test::FakeHttp;

const std::string repository = "https://reg.test/v2/app";
const std::string first_page = repository + "/tags/list?n=1000";

std::string error_id(const auto& result) {
  const auto* const error = std::get_if<Error>(&result);
  return error != nullptr ? std::string{error->id()} : "none";
}

TagsResult list_tags(FakeHttp& http, const RegistryOptions& options = {}) {
  const std::vector<Reference> references = {Reference::parse("reg.test/app")};
  return Registry{http, {}, options}.list_tags(references).at(0);
}

TEST(Registry, KeepsTheOrderOfTheRequestsWhateverTheyMeet) {
  const auto image = test::make_image("linux/arm64");
  FakeHttp http;
  http.on(repository + "/manifests/gone").reply(404);
  http.on(repository + "/manifests/latest").reply(200, image.manifest);
  http.on("https://other.test/v2/x/manifests/1")
      .reply(200, test::make_index({test::child_json(image)}));
  const std::vector<ResolveRequest> requests = {
      {.reference = Reference::parse("reg.test/app:gone")},
      {.reference = Reference::parse("other.test/x:1")},
      {.reference = Reference::parse("nowhere.test/x:1")},
      {.reference = Reference::parse("reg.test/app")}};

  const auto results = Registry{http, {}, {}}.resolve(requests);

  ASSERT_EQ(results.size(), 4U);
  EXPECT_EQ(error_id(results[0]), "registry.not_found");
  EXPECT_EQ(std::get<Resolved>(results[1]).kind, Kind::index);
  EXPECT_EQ(error_id(results[2]), "registry.unreachable");
  EXPECT_EQ(std::get<Resolved>(results[3]).reference, requests[3].reference);
}

TEST(Registry, AsksEqualRequestsOnce) {
  const auto image = test::make_image("linux/arm64");
  FakeHttp http;
  http.on(repository + "/manifests/1").reply(200, image.manifest);
  const std::vector<ResolveRequest> requests(3, {.reference = Reference::parse("reg.test/app:1")});

  EXPECT_EQ((Registry{http, {}, {}}.resolve(requests).size()), 3U);
  EXPECT_EQ(http.requests().size(), 1U);
}

TEST(Registry, SendsNothingOffline) {
  FakeHttp http;
  const std::vector<ResolveRequest> requests = {{.reference = Reference::parse("reg.test/app:1")}};

  EXPECT_EQ(error_id(Registry(http, {}, {.offline = true}).resolve(requests).at(0)),
            "registry.offline");
  EXPECT_EQ(error_id(list_tags(http, {.offline = true})), "registry.offline");
  EXPECT_TRUE(http.requests().empty());
}

TEST(Registry, GivesEveryRequestTheTimeouts) {
  FakeHttp http;
  const std::vector<ResolveRequest> requests = {{.reference = Reference::parse("reg.test/app:1")}};

  static_cast<void>(Registry(http, {},
                             {.timeouts = {.connect = std::chrono::milliseconds{1},
                                           .first_byte = std::chrono::milliseconds{2},
                                           .request = std::chrono::milliseconds{3}}})
                        .resolve(requests));

  EXPECT_EQ(http.requests().at(0).limits.connect_timeout.count(), 1);
  EXPECT_EQ(http.requests().at(0).limits.silence_timeout.count(), 2);
  EXPECT_EQ(http.requests().at(0).limits.total_timeout.count(), 3);
}

TEST(Registry, ListsTagsWithoutThoseOfSignatures) {
  FakeHttp http;
  http.on(first_page)
      .reply(200,
             R"({"name":"app","tags":["1","sha256-0123.sig","2","sha256:abc","not a tag",7]})");

  EXPECT_EQ(std::get<std::vector<std::string>>(list_tags(http)),
            (std::vector<std::string>{"1", "2"}));
}

TEST(Registry, FollowsThePagesOfTags) {
  FakeHttp http;
  http.on(first_page)
      .reply(200, R"({"tags":["1"]})",
             {{"Link", R"(</v2/app/tags/list?last=1&n=1000>; rel="next")"}});
  http.on(repository + "/tags/list?last=1&n=1000")
      .reply(200, R"({"tags":["2"]})", {{"Link", R"(<https://reg.test/p3>; rel=next)"}});
  http.on("https://reg.test/p3").reply(200, R"({"tags":null})");

  EXPECT_EQ(std::get<std::vector<std::string>>(list_tags(http)),
            (std::vector<std::string>{"1", "2"}));
}

TEST(Registry, FollowsNoPageToAnotherHost) {
  FakeHttp http;
  http.on(first_page)
      .reply(200, R"({"tags":["1"]})", {{"Link", R"(<https://evil.test/>; rel="next")"}});

  EXPECT_EQ(error_id(list_tags(http)), "registry.failed");
  EXPECT_EQ(http.requests().size(), 1U);
}

TEST(Registry, StopsAfterTwentyPages) {
  FakeHttp http;
  http.on(first_page)
      .reply(200, R"({"tags":["1"]})", {{"Link", R"(</v2/app/tags/list?n=1000>; rel="next")"}});

  EXPECT_EQ(error_id(list_tags(http)), "registry.failed");
  EXPECT_EQ(http.requests().size(), 20U);
}

TEST(Registry, StopsAfterTenThousandTags) {
  const auto page = [](size_t tags) {
    return fmt::format(R"({{"tags":[{}]}})",
                       fmt::join(std::vector<std::string>(tags, "\"a\""), ","));
  };
  FakeHttp http;
  http.on(first_page).reply(200, page(tags_max)).reply(200, page(tags_max + 1));

  EXPECT_EQ(std::get<std::vector<std::string>>(list_tags(http)).size(), tags_max);
  EXPECT_EQ(error_id(list_tags(http)), "registry.failed");
}

TEST(Registry, TakesNothingElseForAListOfTags) {
  for (const std::string body : {"", "[]", "<html>", R"({"tags":{}})"}) {
    FakeHttp http;
    http.on(first_page).reply(200, body);

    EXPECT_EQ(error_id(list_tags(http)), "registry.not_a_registry") << body;
  }
}

TEST(Registry, LogsInToListTags) {
  FakeHttp http;
  http.on(first_page).reply(401, "", test::bearer_challenge("https://auth.test/t"));
  http.on(first_page).with("Authorization", "Bearer t0k").reply(200, R"({"tags":["1"]})");
  http.on("https://auth.test/t?scope=repository%3Aapp%3Apull&service=reg")
      .reply(200, R"({"token":"t0k"})");

  EXPECT_EQ(std::get<std::vector<std::string>>(list_tags(http)), std::vector<std::string>{"1"});
}

// A page that a redirect led to names its own next page: no token may follow there.
TEST(Registry, SendsNoTokenToAPageOnAnotherOrigin) {
  FakeHttp http;
  const std::string first = "https://reg.test/v2/app/tags/list?n=1000";
  http.on(first).reply(307, "", {{"Location", "https://evil.test/list"}});
  http.on("https://evil.test/list")
      .reply(200, R"({"tags":["1"]})", {{"Link", "<https://evil.test/next>; rel=\"next\""}});

  EXPECT_EQ(error_id(list_tags(http)), "registry.failed");
  EXPECT_EQ(http.count("https://evil.test/next"), 0);
}

}  // namespace
}  // namespace sparkrun::oci
