// SPDX-License-Identifier: MIT
#include "lock/drift.hpp"

#include "lock/comparison.hpp"
#include "lock/resolver.hpp"
#include "support/fake_image.hpp"

#include <gtest/gtest.h>

namespace sparkrun::lock {
namespace {

using test::child_json;
using test::digest_of;
using test::FakeImage;
using test::make_image;
using test::make_index;

const std::string repository = "https://reg.test/v2/app";

Digest digest(char digit) { return Digest::parse("sha256:" + std::string(64, digit)); }

TEST(Classify, GoesByWhatAContainerWouldNotice) {
  const Build before{digest('1'), digest('2'), digest('3')};

  EXPECT_EQ(classify(before, before), DriftClass::metadata_only);
  EXPECT_EQ(classify(before, {digest('9'), digest('2'), digest('3')}), DriftClass::repackaged);
  EXPECT_EQ(classify(before, {digest('9'), digest('8'), digest('3')}), DriftClass::config_only);
  EXPECT_EQ(classify(before, {digest('9'), digest('8'), digest('7')}), DriftClass::content);
  EXPECT_EQ(classify({digest('1'), {}, {}}, {digest('9'), {}, {}}), DriftClass::content);
}

TEST(DriftClassTable, HasACodeForEach) {
  EXPECT_EQ(exit_code(DriftClass::same), ExitCode::ok);
  EXPECT_EQ(exit_code(DriftClass::metadata_only), ExitCode::ok);
  EXPECT_EQ(exit_code(DriftClass::repackaged), ExitCode::no);
  EXPECT_EQ(exit_code(DriftClass::config_only), ExitCode::no);
  EXPECT_EQ(exit_code(DriftClass::content), ExitCode::no);
  EXPECT_EQ(exit_code(DriftClass::platform_lost), ExitCode::no_platform);
  EXPECT_EQ(exit_code(DriftClass::tag_gone), ExitCode::gone);
  EXPECT_EQ(exit_code(DriftClass::unknown), ExitCode::undetermined);
}

TEST(Compare, SaysWhatDiffers) {
  const auto layer = [](char digit, long long size) {
    return oci::Descriptor{.digest = digest(digit), .size = size};
  };
  const oci::ImageDetails before{
      .config = digest('1'),
      .chain = digest('2'),
      .layers = {layer('a', 10), layer('b', 20)},
      .image = {
          .env = {"SAME=1", "OLD=1", "CUDA=13.0"}, .entrypoint = {"a"}, .labels = {{"l", "1"}}}};
  const oci::ImageDetails after{.config = digest('3'),
                                .chain = digest('4'),
                                .layers = {layer('a', 10), layer('c', 300), layer('d', 4000)},
                                .image = {.env = {"CUDA=13.1", "SAME=1", "NEW="},
                                          .entrypoint = {"a", "b"},
                                          .user = "me",
                                          .labels = {{"l", "2"}}}};

  const ImageDifference difference = compare(before, after);

  ASSERT_EQ(difference.env.size(), 3U);
  EXPECT_EQ(difference.env.at(0).name, "CUDA");
  EXPECT_EQ(difference.env.at(0).before, "13.0");
  EXPECT_EQ(difference.env.at(0).after, "13.1");
  EXPECT_EQ(difference.env.at(1).before, std::nullopt);
  EXPECT_EQ(difference.env.at(1).after, "");
  EXPECT_EQ(difference.env.at(2).after, std::nullopt);
  EXPECT_EQ(difference.labels.size(), 1U);
  ASSERT_EQ(difference.settings.size(), 2U);
  EXPECT_EQ(difference.settings.at(0).after, R"(["a","b"])");
  EXPECT_EQ(difference.layers_shared, 1U);
  EXPECT_EQ(difference.layers_gone, 1U);
  EXPECT_EQ(difference.layers_new, 2U);
  EXPECT_EQ(difference.new_bytes, 4300);
}

// A registry with an image of two platforms that was locked while tag `1` pointed at it.
class DriftTest : public testing::Test {
 protected:
  DriftTest() {
    for (const FakeImage* image : {&arm, &amd, &other}) serve_image(http, repository, *image);
    serve(index);
    point_tag_at(index);
    oci::Registry registry{http, {}, {}};
    const auto results = resolve_pins(
        {{.name = "app", .image = "reg.test/app:1", .platforms = {"linux/arm64", "linux/amd64"}}},
        registry);
    locked.push_back({"app", std::get<Lockfile>(results.at(0))});
  }

  void serve(const std::string& body) {
    http.on(repository + "/manifests/" + digest_of(body)).reply(200, body);
  }
  void point_tag_at(const std::string& body) {
    serve(body);
    http.on(tag_url).reply(200, body);
  }
  void lose(const std::string& body) {
    http.on(repository + "/manifests/" + digest_of(body)).reply(404);
  }
  Drift find() {
    oci::Registry registry{http, {}, {}};
    return find_drift(locked, registry).at(0);
  }

  const std::string tag_url = repository + "/manifests/1";
  const FakeImage arm = make_image("linux/arm64", "CUDA_VERSION=13.0"),
                  amd = make_image("linux/amd64"),
                  other = make_image("linux/arm64", "CUDA_VERSION=13.1");
  const std::string index = make_index({child_json(arm), child_json(amd)}),
                    resigned = make_index({child_json(amd), child_json(arm)}),
                    moved = make_index({child_json(other), child_json(amd)});
  test::FakeHttp http;
  std::vector<LockedProfile> locked;
};

TEST_F(DriftTest, IsNoneWhereTheTagStandsStill) {
  const Drift drift = find();

  EXPECT_EQ(drift.drift(), DriftClass::same);
  EXPECT_EQ(drift.exit_code(), ExitCode::ok);
  EXPECT_EQ(drift.platforms.size(), 2U);
}

TEST_F(DriftTest, IsOfMetadataWhereOnlyTheIndexDiffers) {
  point_tag_at(resigned);

  const Drift drift = find();

  EXPECT_EQ(drift.drift(), DriftClass::metadata_only);
  EXPECT_EQ(drift.exit_code(), ExitCode::ok);
  EXPECT_EQ(drift.now->to_string(), digest_of(resigned));
}

TEST_F(DriftTest, IsToldForEachPlatform) {
  point_tag_at(moved);

  const Drift drift = find();

  EXPECT_EQ(drift.drift(), DriftClass::config_only);  // these fakes have equal layers
  EXPECT_EQ(drift.exit_code(), ExitCode::no);
  ASSERT_EQ(drift.platforms.size(), 2U);
  EXPECT_EQ(drift.platforms.at(0).drift, DriftClass::metadata_only);
  ASSERT_TRUE(drift.platforms.at(1).difference);
  EXPECT_EQ(drift.platforms.at(1).difference->env.at(0).after, "13.1");
}

TEST_F(DriftTest, IsALostPlatformWhereTheNewIndexHasNone) {
  point_tag_at(make_index({child_json(amd)}));

  const Drift drift = find();

  EXPECT_EQ(drift.drift(), DriftClass::platform_lost);
  EXPECT_EQ(drift.exit_code(), ExitCode::no_platform);
}

TEST_F(DriftTest, IsAGoneTag) {
  http.on(tag_url).reply(404);

  EXPECT_EQ(find().drift(), DriftClass::tag_gone);
  EXPECT_EQ(find().exit_code(), ExitCode::gone);
}

// The index says for which platform a build is; its config may say another one.
TEST_F(DriftTest, GoesByThePlatformsOfTheIndex) {
  const std::string mislabelled =
      make_index({test::child_json(other.manifest, oci::media_type::oci_manifest, amd.platform),
                  child_json(arm)});
  point_tag_at(mislabelled);

  EXPECT_EQ(find().drift(), DriftClass::config_only);
}

TEST_F(DriftTest, IsUnknownWhereTheTokenServerHasNothing) {
  http.on(tag_url).reply(401, "", test::bearer_challenge("https://auth.test/token"));
  http.on("https://auth.test/token?scope=repository%3Aapp%3Apull&service=reg").reply(404);

  EXPECT_EQ(find().drift(), DriftClass::unknown);
}

TEST_F(DriftTest, IsUnknownWhereTheRegistryDoesNotSay) {
  for (const int status : {401, 403, 429, 500}) {
    http.on(tag_url).reply(status);

    EXPECT_EQ(find().drift(), DriftClass::unknown) << status;
    EXPECT_EQ(find().exit_code(), ExitCode::undetermined) << status;
  }
}

TEST_F(DriftTest, NamesLockedDigestsThatAreGoneAndStillTellsTheClass) {
  point_tag_at(moved);
  lose(index);
  lose(arm.manifest);

  const Drift drift = find();

  EXPECT_EQ(drift.gone, (std::vector<std::string>{digest_of(index), digest_of(arm.manifest)}));
  EXPECT_EQ(drift.drift(), DriftClass::config_only);  // by what the lock has kept
  EXPECT_EQ(drift.exit_code(), ExitCode::gone);
}

TEST_F(DriftTest, LooksAtTheStandInWhileTheWantedTagIsGone) {
  locked.at(0).lock.taken = "reg.test/app:0.9";
  http.on(tag_url).reply(404);
  http.on(repository + "/manifests/0.9").reply(200, index);
  EXPECT_EQ(find().drift(), DriftClass::same);
  EXPECT_EQ(find().reference, "reg.test/app:0.9");

  point_tag_at(moved);
  EXPECT_EQ(find().drift(), DriftClass::config_only);

  http.on(tag_url).reply(403);
  EXPECT_EQ(find().drift(), DriftClass::unknown);
}

TEST_F(DriftTest, LockedDigestsCanBeChecked) {
  const auto check = [&] {
    oci::Registry registry{http, {}, {}};
    return check_locked(locked, registry).at(0);
  };
  EXPECT_TRUE(check().empty());

  locked.at(0).lock.platforms.at("linux/arm64").config = digest('9');
  ASSERT_EQ(check().size(), 1U);
  EXPECT_EQ(check().at(0).id(), "lock.invalid");

  lose(index);
  ASSERT_EQ(check().size(), 1U);  // told once, though two platforms need it
  EXPECT_EQ(check().at(0).id(), "registry.not_found");
}

class CompareImagesTest : public DriftTest {
 protected:
  Comparison compare_to(const std::string& reference, const std::string& platform = "") {
    oci::Registry registry{http, {}, {}};
    return compare_images(side("reg.test/app@" + digest_of(index)), side(reference), platform,
                          registry);
  }
  static Side side(const std::string& reference) {
    return {.name = reference, .reference = oci::Reference::parse(reference), .platforms = {}};
  }
};

TEST_F(CompareImagesTest, ComparesTheSparksBuilds) {
  point_tag_at(moved);

  const Comparison comparison = compare_to("reg.test/app:1");

  ASSERT_EQ(comparison.platforms.size(), 1U);
  EXPECT_EQ(comparison.platforms.at(0).platform, "linux/arm64");
  EXPECT_EQ(comparison.platforms.at(0).drift, DriftClass::config_only);
  EXPECT_EQ(compare_to("reg.test/app:1", "linux/amd64").platforms.at(0).drift,
            DriftClass::metadata_only);
  point_tag_at(index);
  EXPECT_EQ(compare_to("reg.test/app:1").platforms.at(0).drift, DriftClass::same);
}

TEST_F(CompareImagesTest, ComparesASingleManifestByTheArchitectureOfItsConfig) {
  const Comparison comparison = compare_to("reg.test/app@" + digest_of(amd.manifest));

  EXPECT_EQ(comparison.platforms.at(0).platform, "linux/amd64");
  EXPECT_EQ(comparison.platforms.at(0).drift, DriftClass::metadata_only);
}

TEST_F(CompareImagesTest, NeedsAPlatformInCommon) {
  const FakeImage foreign = make_image("linux/s390x");
  serve_image(http, repository, foreign);

  try {
    compare_to("reg.test/app@" + digest_of(foreign.manifest));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.id(), "registry.platform_missing");
  }
}

}  // namespace
}  // namespace sparkrun::lock
