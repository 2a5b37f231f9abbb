// SPDX-License-Identifier: MIT
#include "oci/resolution.hpp"

#include "base/text.hpp"
#include "oci/registry.hpp"
#include "support/fake_http.hpp"
#include "support/fake_image.hpp"

#include <gtest/gtest.h>

namespace sparkrun::oci {
namespace {

using test::FakeHttp;
using test::FakeImage;

const std::string repository = "https://reg.test/v2/app";
const std::string tag_url = repository + "/manifests/1";

const FakeImage arm = test::make_image("linux/arm64");
const FakeImage amd = test::make_image("linux/amd64");

std::string attestation() {
  return test::child_json("attestation", media_type::oci_manifest,
                          Platform::parse("unknown/unknown"));
}

std::string nested(const std::string& index) {
  return fmt::format(R"({{"mediaType":"{}","digest":"{}","size":{}}})", media_type::oci_index,
                     test::digest_of(index), index.size());
}

ResolveResult resolve(FakeHttp& http, const ResolveRequest& request) {
  return Registry{http, {}, {}}.resolve({&request, 1}).at(0);
}

ResolveRequest plain(const std::string& text = "reg.test/app:1") {
  return {.reference = Reference::parse(text)};
}

ResolveRequest for_platform(const std::string& platform) {
  return {.reference = Reference::parse("reg.test/app:1"), .platform = Platform::parse(platform)};
}

ResolveRequest with_configs(const std::vector<std::string>& platforms) {
  ResolveRequest request{.reference = Reference::parse("reg.test/app:1"),
                         .detail = ResolveDetail::configs};
  for (const std::string& platform : platforms)
    request.platforms.push_back(Platform::parse(platform));
  return request;
}

Resolved resolved(const ResolveResult& result) {
  if (const auto* const error = std::get_if<Error>(&result)) throw *error;
  return std::get<Resolved>(result);
}

std::string error_id(const ResolveResult& result) {
  const auto* const error = std::get_if<Error>(&result);
  return error != nullptr ? std::string{error->id()} : "none";
}

// The result of a tag that answers with this.
ResolveResult answer(const std::string& body, FakeHttp::Headers headers = {}) {
  FakeHttp http;
  http.on(tag_url).reply(200, body, std::move(headers));
  return resolve(http, plain());
}

TEST(Resolution, ListsThePlatformsOfAnIndexInOneRequest) {
  FakeHttp http;
  const std::string index =
      test::make_index({test::child_json(amd), attestation(), test::child_json(arm)});
  http.on(tag_url).with("Accept", std::string{media_type::accepted}).reply(200, index);

  const Resolved result = resolved(resolve(http, plain()));

  EXPECT_EQ(result.digest, Digest::sha256_of(index));
  EXPECT_EQ(result.kind, Kind::index);
  EXPECT_EQ(result.media_type, media_type::oci_index);
  EXPECT_EQ(result.manifest_bytes, static_cast<long long>(index.size()));
  ASSERT_EQ(result.platforms.size(), 2U);
  EXPECT_EQ(result.platforms[0].platform, amd.platform);
  EXPECT_EQ(result.platforms[1].digest, Digest::sha256_of(arm.manifest));
  EXPECT_EQ(result.platforms[1].manifest_bytes, static_cast<long long>(arm.manifest.size()));
  EXPECT_EQ(result.requests, 1);
}

TEST(Resolution, AsksForNoConfigOfASingleManifestThatNobodyWants) {
  const Resolved result = resolved(answer(arm.manifest));

  EXPECT_EQ(result.kind, Kind::manifest);
  EXPECT_EQ(result.digest, Digest::sha256_of(arm.manifest));
  EXPECT_TRUE(result.platforms.empty());
  EXPECT_EQ(result.requests, 1);
}

TEST(Resolution, GivesTheChildOfThePlatform) {
  FakeHttp http;
  http.on(tag_url).reply(200, test::make_index({test::child_json(amd), test::child_json(arm)}));

  const Resolved result = resolved(resolve(http, for_platform("linux/arm64/v8")));

  EXPECT_EQ(result.digest, Digest::sha256_of(arm.manifest));
  EXPECT_EQ(result.kind, Kind::manifest);
  EXPECT_EQ(result.media_type, media_type::oci_manifest);
  EXPECT_EQ(result.manifest_bytes, static_cast<long long>(arm.manifest.size()));
  EXPECT_EQ(result.requests, 1);
}

TEST(Resolution, PrefersTheExactVariantToTheBaseline) {
  const FakeImage newer = test::make_image("linux/arm64/v9");
  FakeHttp http;
  http.on(tag_url).reply(200, test::make_index({test::child_json(arm), test::child_json(newer)}));

  EXPECT_EQ(resolved(resolve(http, for_platform("linux/arm64/v9"))).digest,
            Digest::sha256_of(newer.manifest));
  EXPECT_EQ(resolved(resolve(http, for_platform("linux/arm64"))).digest,
            Digest::sha256_of(arm.manifest));
  EXPECT_EQ(resolved(resolve(http, for_platform("linux/arm64/v10"))).digest,
            Digest::sha256_of(arm.manifest));
}

TEST(Resolution, ListsThePlatformsThatExistWhenTheWantedOneDoesNot) {
  FakeHttp http;
  http.on(tag_url).reply(200, test::make_index({test::child_json(amd), attestation()}));

  const Error error = std::get<Error>(resolve(http, for_platform("linux/arm64")));

  EXPECT_EQ(error.id(), "registry.platform_missing");
  EXPECT_STREQ(error.what(), "reg.test/app:1 has no build for linux/arm64; it has linux/amd64");
  EXPECT_EQ(error.details().at("available"), "linux/amd64");
}

TEST(Resolution, FindsThePlatformOfASingleManifestInItsConfig) {
  FakeHttp http;
  http.on(tag_url).reply(200, arm.manifest);
  test::serve_image(http, repository, arm);

  const Resolved result = resolved(resolve(http, for_platform("linux/arm64")));
  EXPECT_EQ(result.digest, Digest::sha256_of(arm.manifest));
  EXPECT_EQ(result.platforms.at(0).platform, arm.platform);
  EXPECT_EQ(result.requests, 2);
  EXPECT_EQ(error_id(resolve(http, for_platform("linux/amd64"))), "registry.platform_missing");
}

TEST(Resolution, DescendsNestedIndexesForAPlatform) {
  const std::string third = test::make_index({test::child_json(arm)});
  const std::string second = test::make_index({nested(third)});
  const std::string first = test::make_index({test::child_json(amd), nested(second)});
  FakeHttp http;
  http.on(tag_url).reply(200, first);
  http.on(repository + "/manifests/" + test::digest_of(second)).reply(200, second);
  http.on(repository + "/manifests/" + test::digest_of(third)).reply(200, third);

  EXPECT_EQ(resolved(resolve(http, for_platform("linux/arm64"))).digest,
            Digest::sha256_of(arm.manifest));
  EXPECT_EQ(resolved(resolve(http, for_platform("linux/amd64"))).requests, 1);
}

TEST(Resolution, DoesNotDescendAFourthLevel) {
  const std::string fourth = test::make_index({test::child_json(arm)});
  const std::string third = test::make_index({nested(fourth)});
  const std::string second = test::make_index({nested(third)});
  FakeHttp http;
  http.on(tag_url).reply(200, test::make_index({nested(second)}));
  http.on(repository + "/manifests/" + test::digest_of(second)).reply(200, second);
  http.on(repository + "/manifests/" + test::digest_of(third)).reply(200, third);

  EXPECT_EQ(error_id(resolve(http, for_platform("linux/arm64"))), "registry.platform_missing");
  EXPECT_EQ(http.requests().size(), 3U);
}

TEST(Resolution, RefusesAnIndexOfEndlesslyManyChildren) {
  EXPECT_EQ(error_id(answer(test::make_index(std::vector(256, test::child_json(arm))))), "none");
  EXPECT_EQ(error_id(answer(test::make_index(std::vector(257, test::child_json(arm))))),
            "registry.not_a_registry");
  EXPECT_EQ(error_id(answer(test::make_index(std::vector(17, nested("x"))))),
            "registry.not_a_registry");
}

TEST(Resolution, FetchesManifestAndConfigOfEachWantedPlatform) {
  const std::string index = test::make_index({test::child_json(amd), test::child_json(arm)});
  FakeHttp http;
  http.on(tag_url).reply(200, index);
  test::serve_image(http, repository, arm);
  test::serve_image(http, repository, amd);

  const Resolved result = resolved(resolve(http, with_configs({"linux/arm64", "linux/amd64"})));

  EXPECT_EQ(result.digest, Digest::sha256_of(index));
  EXPECT_EQ(result.requests, 5);
  ASSERT_EQ(result.platforms.size(), 2U);
  EXPECT_EQ(result.platforms[0].platform, arm.platform);
  const ImageDetails& details = *result.platforms[0].details;
  EXPECT_EQ(details.config, Digest::sha256_of(arm.config));
  EXPECT_EQ(details.chain, Digest::parse(test::fake_layer));
  EXPECT_EQ(details.download_bytes, test::fake_layer_bytes);
  EXPECT_EQ(details.image.env, std::vector<std::string>{"A=b"});
  EXPECT_EQ(result.platforms[1].details->config, Digest::sha256_of(amd.config));
}

TEST(Resolution, FetchesTheConfigsOfAllPlatformsWhenNoneIsNamed) {
  FakeHttp http;
  http.on(tag_url).reply(200,
                         test::make_index({test::child_json(amd), attestation(), nested("x")}));
  test::serve_image(http, repository, amd);
  http.on(repository + "/manifests/" + test::digest_of("x")).reply(200, "x");

  EXPECT_EQ(error_id(resolve(http, with_configs({}))), "registry.not_a_registry");

  const std::string inner = test::make_index({test::child_json(arm)});
  http.on(tag_url).reply(200, test::make_index({test::child_json(amd), nested(inner)}));
  http.on(repository + "/manifests/" + test::digest_of(inner)).reply(200, inner);
  test::serve_image(http, repository, arm);
  EXPECT_EQ(resolved(resolve(http, with_configs({}))).platforms.size(), 2U);
}

TEST(Resolution, FetchesTheConfigOfASingleManifest) {
  FakeHttp http;
  http.on(tag_url).reply(200, arm.manifest);
  test::serve_image(http, repository, arm);

  const Resolved result = resolved(resolve(http, with_configs({"linux/arm64"})));

  EXPECT_EQ(result.requests, 2);
  EXPECT_EQ(result.platforms.at(0).details->config, Digest::sha256_of(arm.config));
  EXPECT_EQ(error_id(resolve(http, with_configs({"linux/arm64", "linux/amd64"}))),
            "registry.platform_missing");
}

TEST(Resolution, RefusesContentThatIsNotWhatItsDescriptorSays) {
  FakeHttp other_manifest;
  other_manifest.on(tag_url).reply(200, test::make_index({test::child_json(arm)}));
  other_manifest.on(repository + "/manifests/" + test::digest_of(arm.manifest))
      .reply(200, amd.manifest);
  FakeHttp other_config;
  other_config.on(tag_url).reply(200, arm.manifest);
  other_config.on(repository + "/blobs/" + test::digest_of(arm.config)).reply(200, amd.config);
  FakeHttp other_size;
  std::string longer = arm.manifest;
  longer.replace(longer.find("\"size\":") + 7, 1, "9");
  other_size.on(tag_url).reply(200, longer);
  other_size.on(repository + "/blobs/" + test::digest_of(arm.config)).reply(200, arm.config);

  for (FakeHttp* const http : {&other_manifest, &other_config, &other_size}) {
    EXPECT_EQ(error_id(resolve(*http, with_configs({"linux/arm64"}))), "registry.content_mismatch");
  }
}

TEST(Resolution, AsksByDigestEvenWhereThereIsATagToo) {
  FakeHttp http;
  test::serve_image(http, repository, arm);
  const std::string digest = test::digest_of(arm.manifest);

  EXPECT_EQ(resolved(resolve(http, plain("reg.test/app@" + digest))).digest.to_string(), digest);
  EXPECT_EQ(resolved(resolve(http, plain("reg.test/app:1@" + digest))).digest.to_string(), digest);
}

TEST(Resolution, VerifiesASha512DigestByItsOwnAlgorithm) {
  const std::string digest = "sha512:" + to_hex(sha512(arm.manifest));
  FakeHttp http;
  http.on(repository + "/manifests/" + digest).reply(200, arm.manifest).reply(200, amd.manifest);

  EXPECT_EQ(resolved(resolve(http, plain("reg.test/app@" + digest))).digest.to_string(), digest);
  EXPECT_EQ(error_id(resolve(http, plain("reg.test/app@" + digest))), "registry.content_mismatch");
}

TEST(Resolution, RefusesOtherContentThanTheDigestAskedFor) {
  FakeHttp http;
  http.on(repository + "/manifests/" + test::digest_of(arm.manifest)).reply(200, amd.manifest);

  EXPECT_EQ(error_id(resolve(http, plain("reg.test/app@" + test::digest_of(arm.manifest)))),
            "registry.content_mismatch");
}

TEST(Resolution, RefusesAFalseDigestHeader) {
  EXPECT_EQ(
      error_id(answer(arm.manifest, {{"docker-content-digest", test::digest_of(amd.manifest)}})),
      "registry.content_mismatch");
  EXPECT_EQ(
      error_id(answer(arm.manifest, {{"Docker-Content-Digest", test::digest_of(arm.manifest)}})),
      "none");
  EXPECT_EQ(error_id(answer(arm.manifest,
                            {{"Docker-Content-Digest", "sha512:" + to_hex(sha512(arm.manifest))}})),
            "none");
}

TEST(Resolution, TakesAMalformedDigestHeaderForNone) {
  for (const std::string header : {"", "abc", "\"etag\"", "md5:abc", "sha256:ABC"}) {
    const Resolved result = resolved(answer(arm.manifest, {{"Docker-Content-Digest", header}}));
    EXPECT_EQ(result.digest, Digest::sha256_of(arm.manifest));
  }
}

TEST(Resolution, GivesNoDigestForAWebPage) {
  const auto result = answer("<html>sign in</html>", {{"Content-Type", "text/html"}});

  EXPECT_EQ(error_id(result), "registry.not_a_registry");
  EXPECT_STREQ(std::get<Error>(result).what(),
               "registry reg.test, app:1: the answer is a web page, not a manifest");
}

TEST(Resolution, GivesNoDigestForHalfADocument) {
  EXPECT_EQ(error_id(answer(arm.manifest.substr(0, arm.manifest.size() / 2))),
            "registry.not_a_registry");
}

TEST(Resolution, NeedsNoContentType) {
  EXPECT_EQ(error_id(answer(arm.manifest)), "none");
  EXPECT_EQ(error_id(answer(arm.manifest, {{"Content-Type", "text/plain"}})), "none");
  EXPECT_EQ(error_id(answer(arm.manifest, {{"Content-Type", std::string{media_type::oci_index}}})),
            "registry.not_a_registry");
}

TEST(Resolution, ResolvesAnArtifactThatIsNoImage) {
  FakeImage artifact = arm;
  artifact.config = "{}";
  artifact.manifest =
      fmt::format(R"({{"schemaVersion":2,"config":{{"digest":"{}","size":2}},"layers":[]}})",
                  test::digest_of("{}"));
  FakeHttp http;
  http.on(tag_url).reply(200, artifact.manifest);
  test::serve_image(http, repository, artifact);

  EXPECT_EQ(resolved(resolve(http, plain())).digest, Digest::sha256_of(artifact.manifest));
  EXPECT_EQ(error_id(resolve(http, with_configs({"linux/arm64"}))), "registry.not_a_registry");
}

TEST(Resolution, WarnsOfTwoBuildsForOnePlatform) {
  const FakeImage twin = test::make_image("linux/arm64", "A=twin");
  FakeHttp http;
  http.on(tag_url).reply(200, test::make_index({test::child_json(arm), test::child_json(twin)}));

  const Resolved found = resolved(resolve(http, for_platform("linux/arm64")));

  EXPECT_EQ(found.digest.to_string(), test::digest_of(arm.manifest));
  EXPECT_EQ(found.warnings.size(), 1U);
}

TEST(Resolution, SaysThatEntriesDoNotSayTheirPlatform) {
  FakeHttp http;
  http.on(tag_url).reply(
      200, test::make_index({fmt::format(R"({{"mediaType":"{}","digest":"{}","size":1}})",
                                         media_type::oci_manifest, test::digest_of("x"))}));

  const auto result = resolve(http, for_platform("linux/arm64"));

  EXPECT_EQ(error_id(result), "registry.platform_missing");
  EXPECT_NE(std::string{std::get<Error>(result).what()}.find("1 of its entries say no platform"),
            std::string::npos);
}

TEST(Resolution, SaysWhatIsLeftOfTheQuota) {
  FakeHttp http;
  http.on(tag_url).reply(
      200, test::make_index({test::child_json(arm)}),
      {{"ratelimit-limit", "100;w=21600"}, {"ratelimit-remaining", "98;w=21600"}});

  const auto limit = resolved(resolve(http, plain())).rate_limit;

  ASSERT_TRUE(limit);
  EXPECT_EQ(limit->limit, 100);
  EXPECT_EQ(limit->remaining, 98);
  EXPECT_EQ(limit->window_seconds, 21600);
}

// A reference with tag and digest, whose digest is that of the index with `arm` and `amd`.
class TagBesideDigest : public testing::Test {
 protected:
  TagBesideDigest() {
    http.on(repository + "/manifests/" + test::digest_of(index)).reply(200, index);
    serve_image(http, repository, arm);
  }

  TagNow ask(const std::string& pinned) {
    ResolveRequest request = plain("reg.test/app:1@" + pinned);
    request.asks_for_tag = true;
    const auto tag = resolved(resolve(http, request)).tag;
    EXPECT_TRUE(tag);
    return tag.value_or(TagNow{});
  }
  void head_says(int status, const std::string& digest) {
    http.on(tag_url).with_method("HEAD").reply(status, "", {{"Docker-Content-Digest", digest}});
  }

  FakeHttp http;
  const std::string index = test::make_index({test::child_json(arm), test::child_json(amd)});
  const std::string other = test::make_index({test::child_json(amd)});
};

TEST_F(TagBesideDigest, IsAskedForInOneRequestWhereItHasNotMoved) {
  head_says(200, test::digest_of(index));

  const TagNow tag = ask(test::digest_of(index));

  EXPECT_FALSE(tag.has_moved);
  EXPECT_EQ(tag.digest, Digest::parse(test::digest_of(index)));
  EXPECT_EQ(http.requests().size(), 2U);
}

TEST_F(TagBesideDigest, HasMovedWhereItPointsAtOtherContent) {
  head_says(200, test::digest_of(other));
  http.on(tag_url).with_method("GET").reply(200, other);

  const TagNow tag = ask(test::digest_of(index));

  EXPECT_TRUE(tag.has_moved);
  EXPECT_EQ(tag.digest, Digest::parse(test::digest_of(other)));
}

TEST_F(TagBesideDigest, HasNotMovedWhereItsIndexHoldsThePinnedBuild) {
  head_says(200, test::digest_of(index));
  http.on(tag_url).with_method("GET").reply(200, index);

  EXPECT_FALSE(ask(test::digest_of(arm.manifest)).has_moved);
}

TEST_F(TagBesideDigest, IsFetchedWhereHeadSaysNothing) {
  for (const int status : {200, 403, 404, 405}) {
    FakeHttp::Rule& head = http.on(tag_url).with_method("HEAD");
    head.reply(status, "", {{"Docker-Content-Digest", "abc"}});
    http.on(tag_url).with_method("GET").reply(200, index);

    const TagNow tag = ask(test::digest_of(index));

    EXPECT_FALSE(tag.has_moved) << status;
    EXPECT_FALSE(tag.is_gone) << status;
    EXPECT_TRUE(tag.digest) << status;
  }
}

TEST_F(TagBesideDigest, IsGoneWhereTheRegistryDoesNotHaveIt) {
  head_says(404, "");
  http.on(tag_url).with_method("GET").reply(404);

  EXPECT_TRUE(ask(test::digest_of(index)).is_gone);
}

// k8s-digester#2: who is told to stay away asks no more.
TEST_F(TagBesideDigest, IsNotFetchedWhereTheRegistryHasHadEnough) {
  head_says(429, "");
  http.on(tag_url).with_method("GET").reply(200, index);

  EXPECT_FALSE(ask(test::digest_of(index)).digest);
  EXPECT_EQ(http.requests().size(), 2U);
}

TEST_F(TagBesideDigest, MayNotBeKnown) {
  const TagNow tag = ask(test::digest_of(index));  // nobody answers for the tag

  EXPECT_FALSE(tag.is_gone);
  EXPECT_FALSE(tag.has_moved);
  EXPECT_FALSE(tag.digest);
}

}  // namespace
}  // namespace sparkrun::oci
