// SPDX-License-Identifier: MIT
#include "lock/resolver.hpp"

#include "support/fake_image.hpp"

#include <gtest/gtest.h>

namespace sparkrun::lock {
namespace {

using test::digest_of;
using test::FakeImage;
using test::make_image;
using test::make_index;

constexpr std::string_view repository = "https://reg.test/v2/team/app";

// A registry whose tag `1` is an index of two platforms, and which can be moved to a second
// release.
class ResolverTest : public testing::Test {
 protected:
  ResolverTest() {
    for (const FakeImage* image : {&arm, &amd, &new_arm})
      serve_image(http, std::string{repository}, *image);
    for (const std::string& index : {old_index, new_index}) {
      http.on(url("manifests/" + digest_of(index))).reply(200, index);
    }
    point_tag_at(old_index);
  }

  static std::string url(const std::string& path) { return std::string{repository} + "/" + path; }
  void point_tag_at(const std::string& body) { http.on(url("manifests/1")).reply(200, body); }

  PinResult resolve() {
    oci::Registry registry{http, {}, {}};
    return resolve_pins({request}, registry).at(0);
  }
  Lockfile lock() {
    const PinResult result = resolve();
    if (const auto* error = std::get_if<Error>(&result)) throw Error{*error};
    return std::get<Lockfile>(result);
  }

  const FakeImage arm = make_image("linux/arm64", "CUDA_VERSION=13.0"),
                  amd = make_image("linux/amd64"),
                  new_arm = make_image("linux/arm64", "CUDA_VERSION=13.1");
  const std::string old_index = make_index({child_json(arm), child_json(amd)}),
                    new_index = make_index({child_json(new_arm)});
  test::FakeHttp http;
  PinRequest request{.name = "app", .image = "reg.test/team/app:1", .platforms = {"linux/arm64"}};
};

TEST_F(ResolverTest, PinsIndexAndPlatformCompletely) {
  const Lockfile locked = lock();

  EXPECT_EQ(locked.image, "reg.test/team/app:1");
  EXPECT_EQ(locked.comment, default_comment());
  EXPECT_EQ(locked.index->to_string(), digest_of(old_index));
  ASSERT_EQ(locked.platforms.size(), 1U);
  const PlatformPin& pin = locked.platforms.at("linux/arm64");
  EXPECT_EQ(pin.manifest.to_string(), digest_of(arm.manifest));
  EXPECT_EQ(pin.config->to_string(), digest_of(arm.config));
  EXPECT_EQ(pin.chain->to_string(), test::fake_layer);
  EXPECT_EQ(pin.created, "2026-07-02T11:04:19Z");
  EXPECT_EQ(pin.download_bytes, test::fake_layer_bytes);
  EXPECT_EQ(pin.image_env, (std::map<std::string, std::string>{{"CUDA_VERSION", "13.0"}}));
}

TEST_F(ResolverTest, AsksNothingWhenAllIsThere) {
  request.current = lock();
  const size_t asked = http.requests().size();

  const Lockfile again = lock();

  EXPECT_TRUE(is_settled(request));
  EXPECT_EQ(http.requests().size(), asked);
  EXPECT_EQ(again, *request.current);
}

TEST_F(ResolverTest, ReadsAnAddedPlatformFromTheLockedIndex) {
  request.current = lock();
  point_tag_at(new_index);
  const int tag_requests = http.count(url("manifests/1"));
  request.platforms = {"linux/arm64", "linux/amd64"};

  const Lockfile added = lock();

  EXPECT_EQ(http.count(url("manifests/1")), tag_requests);
  EXPECT_EQ(added.index, request.current->index);
  EXPECT_EQ(added.platforms.at("linux/arm64"), request.current->platforms.at("linux/arm64"));
  EXPECT_EQ(added.platforms.at("linux/amd64").manifest.to_string(), digest_of(amd.manifest));
}

TEST_F(ResolverTest, CompletesAPinFromTheLockedDigest) {
  const Lockfile complete = lock();
  point_tag_at(new_index);
  request.current =
      Lockfile{.comment = "# mine\n", .image = complete.image, .index = complete.index};

  const Lockfile completed = lock();

  EXPECT_EQ(completed.comment, "# mine\n");
  EXPECT_EQ(completed.platforms, complete.platforms);
}

TEST_F(ResolverTest, DropsAPlatformThatIsNoLongerListed) {
  request.platforms = {"linux/arm64", "linux/amd64"};
  request.current = lock();
  request.platforms = {"linux/amd64"};

  const Lockfile fewer = lock();

  EXPECT_EQ(fewer.platforms.size(), 1U);
  EXPECT_TRUE(fewer.platforms.contains("linux/amd64"));
}

TEST_F(ResolverTest, MovesThePinWhenTold) {
  request.current = lock();
  point_tag_at(new_index);
  request.update = true;

  const Lockfile moved = lock();

  EXPECT_EQ(moved.index->to_string(), digest_of(new_index));
  EXPECT_EQ(moved.platforms.at("linux/arm64").image_env.at("CUDA_VERSION"), "13.1");
}

TEST_F(ResolverTest, MovesThePinWhenTheImageChanged) {
  http.on(url("manifests/2")).reply(200, new_index);
  request.current = lock();
  request.image = "reg.test/team/app:2";

  const Lockfile moved = lock();

  EXPECT_EQ(moved.image, "reg.test/team/app:2");
  EXPECT_EQ(moved.index->to_string(), digest_of(new_index));
}

TEST_F(ResolverTest, PinsExactlyTheDigestThatIsNamed) {
  request.current = lock();
  request.update_to = Digest::parse(digest_of(new_index));

  const Lockfile moved = lock();

  EXPECT_EQ(moved.image, "reg.test/team/app:1");
  EXPECT_EQ(moved.index->to_string(), digest_of(new_index));
}

TEST_F(ResolverTest, PinsASingleManifestWithoutIndex) {
  point_tag_at(arm.manifest);

  const Lockfile locked = lock();

  EXPECT_FALSE(locked.index);
  EXPECT_EQ(locked.platforms.at("linux/arm64").manifest.to_string(), digest_of(arm.manifest));
  EXPECT_TRUE(locked.is_complete());
}

TEST_F(ResolverTest, KeepsASingleManifestWhereTheTagMoves) {
  point_tag_at(arm.manifest);
  Lockfile incomplete = lock();
  incomplete.platforms.at("linux/arm64").config.reset();
  request.current = incomplete;
  point_tag_at(new_arm.manifest);

  EXPECT_EQ(lock().platforms.at("linux/arm64").config->to_string(), digest_of(arm.config));
}

TEST_F(ResolverTest, SaysWhichProfileFailedAndGoesOnWithTheOthers) {
  oci::Registry registry{http, {}, {}};
  PinRequest bad = request;
  bad.name = "bad";
  bad.platforms = {"linux/s390x"};

  const auto results = resolve_pins({bad, request}, registry);

  const Error& error = std::get<Error>(results.at(0));
  EXPECT_EQ(error.id(), "registry.platform_missing");
  EXPECT_EQ(error.context(), std::vector<std::string>{"locking profile `bad`"});
  EXPECT_EQ(std::get<Lockfile>(results.at(1)).index->to_string(), digest_of(old_index));
}

TEST_F(ResolverTest, PinsEachVariantToItsOwnBuild) {
  const FakeImage v3 = make_image("linux/amd64/v3", "V=3");
  serve_image(http, std::string{repository}, v3);
  point_tag_at(make_index({child_json(amd), child_json(v3)}));
  request.platforms = {"linux/amd64", "linux/amd64/v3"};

  const Lockfile locked = lock();

  EXPECT_EQ(locked.platforms.at("linux/amd64").manifest.to_string(), digest_of(amd.manifest));
  EXPECT_EQ(locked.platforms.at("linux/amd64/v3").manifest.to_string(), digest_of(v3.manifest));
}

TEST_F(ResolverTest, RefusesTwoBuildsForOnePlatform) {
  http.on(url("manifests/1")).reply(200, make_index({child_json(arm), child_json(new_arm)}));

  EXPECT_EQ(std::get<Error>(resolve()).id(), "registry.platform_ambiguous");
}

// A registry that has other tags than the wanted one.
class FallbackTest : public ResolverTest {
 protected:
  FallbackTest() {
    http.on(url("manifests/1")).reply(404);
    http.on(url("tags/list?n=1000")).reply(200, R"({"tags":["25.9-py3","25.11-py3","25.12-cpu"]})");
    http.on(url("manifests/25.11-py3")).reply(200, old_index);
    request.fallback = {"25.*-py3"};
  }
};

TEST_F(FallbackTest, IsTheNewestMatch) {
  const Lockfile locked = lock();

  EXPECT_EQ(locked.image, "reg.test/team/app:1");
  EXPECT_EQ(locked.taken, "reg.test/team/app:25.11-py3");
  EXPECT_EQ(locked.taken_because, "the registry does not have the wanted tag");
  EXPECT_EQ(locked.index->to_string(), digest_of(old_index));
}

TEST_F(FallbackTest, ReplacesNoTagThatIsThere) {
  point_tag_at(old_index);

  EXPECT_EQ(lock().taken, "");
  EXPECT_EQ(http.count(url("tags/list?n=1000")), 0);
}

TEST_F(FallbackTest, StaysUntilToldOtherwise) {
  request.current = lock();
  request.platforms.push_back("linux/amd64");
  EXPECT_EQ(lock().taken, "reg.test/team/app:25.11-py3");

  point_tag_at(old_index);
  request.update = true;
  EXPECT_EQ(lock().taken, "");
}

TEST_F(FallbackTest, IsNoneWhereNothingMatchesOrNothingIsGone) {
  request.fallback = {"24.*"};
  EXPECT_EQ(std::get<Error>(resolve()).id(), "registry.not_found");

  request.fallback = {"25.*-py3"};
  http.on(url("manifests/1")).reply(403);
  EXPECT_EQ(std::get<Error>(resolve()).id(), "registry.denied");
}

TEST(NewestMatch, GoesByVersion) {
  EXPECT_EQ(newest_match({"25.9", "25.11", "25.10"}, {"25.*"}), "25.11");
  EXPECT_EQ(newest_match({"1", "2"}, {"3*"}), std::nullopt);
  EXPECT_EQ(newest_match({"a-1", "b-2"}, {"a-*", "b-*"}), "b-2");
}

TEST(Expand, WritesTheWholeReference) {
  EXPECT_EQ(expand("ubuntu"), "docker.io/library/ubuntu:latest");
  EXPECT_EQ(expand("unsloth/unsloth:dgxspark-latest"), "docker.io/unsloth/unsloth:dgxspark-latest");
}

}  // namespace
}  // namespace sparkrun::lock
