// SPDX-License-Identifier: MIT
#include "run/ensure_image.hpp"

#include "base/digest.hpp"
#include "base/error.hpp"
#include "support/fake_engine.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace sparkrun::run {
namespace {

using engine::LocalImage;
using plan::PinnedImage;

std::string digest_of(const std::string& text) { return Digest::sha256_of(text).to_string(); }

const std::string name = "reg.test/app", config = digest_of("config"),
                  manifest = digest_of("manifest"), index_digest = digest_of("index");

PinnedImage complete_pin() {
  return {.reference = name + ":1",
          .run_as = name + "@" + index_digest,
          .index = index_digest,
          .manifest = manifest,
          .config = config,
          .platform = "linux/arm64",
          .pin = "lock"};
}

PinnedImage incomplete_pin() {
  PinnedImage pin = complete_pin();
  pin.config.clear();
  return pin;
}

TEST(MatchContent, KnowsAnImageByEveryDigestOfItsStore) {
  struct Row {
    const char* what;
    PinnedImage pin;
    LocalImage image;
    std::string_view matched_by;
  };
  const std::string other = digest_of("other");
  const Row rows[] = {
      {"classic store", complete_pin(), {.id = config}, "config"},
      {"containerd store, index", complete_pin(), {.id = index_digest}, "index"},
      {"containerd store, manifest", complete_pin(), {.id = manifest}, "manifest"},
      {"another image", complete_pin(), {.id = other}, ""},
      {"another image that claims the digest",
       complete_pin(),
       {.id = other, .repo_digests = {name + "@" + index_digest}},
       ""},
      {"no config yet, index known",
       incomplete_pin(),
       {.id = other, .repo_digests = {"x.test/y@" + other, name + "@" + index_digest}},
       "index"},
      {"no config yet, manifest known",
       incomplete_pin(),
       {.id = other, .repo_digests = {name + "@" + manifest}},
       "manifest"},
      {"no config yet, other repository",
       incomplete_pin(),
       {.id = other, .repo_digests = {"reg.test/other@" + index_digest}},
       ""},
      {"no config yet, other digest",
       incomplete_pin(),
       {.id = other, .repo_digests = {name + "@" + other}},
       ""},
      {"no config yet, no repository digest", incomplete_pin(), {.id = other}, ""},
      {"nothing at all", incomplete_pin(), {}, ""},
  };
  for (const Row& row : rows)
    EXPECT_EQ(match_content(row.pin, row.image), row.matched_by) << row.what;
}

TEST(MatchContent, ExpandsDockersShortNames) {
  PinnedImage pin = incomplete_pin();
  pin.reference = "docker.io/unsloth/unsloth:1";

  EXPECT_EQ(match_content(pin, {.id = "x", .repo_digests = {"unsloth/unsloth@" + index_digest}}),
            "index");
}

TEST(MatchContent, PassesOverARepositoryDigestThatItCannotRead) {
  EXPECT_EQ(
      match_content(incomplete_pin(),
                    {.id = "x", .repo_digests = {"<none>@<none>", name + "@" + index_digest}}),
      "index");
}

class EnsureImageTest : public testing::Test {
 protected:
  EnsuredImage ensure(bool is_offline = false) {
    return ensure_image(pin, engine, {.is_offline = is_offline});
  }
  Error ensure_error(bool is_offline = false) {
    try {
      ensure(is_offline);
    } catch (const Error& error) {
      return error;
    }
    return Error{"bug", "no error"};
  }

  PinnedImage pin = complete_pin();
  test::FakeEngine engine;
};

TEST_F(EnsureImageTest, TakesWhatIsInTheStore) {
  engine.images[pin.run_as] = {.id = config};

  const EnsuredImage ensured = ensure();

  EXPECT_EQ(ensured.run_as, pin.run_as);
  EXPECT_EQ(ensured.matched_by, "config");
  EXPECT_EQ(engine.calls, std::vector<std::string>{"find_image " + pin.run_as});
}

TEST_F(EnsureImageTest, RunsALoadedImageByItsId) {
  engine.images[config] = {.id = config};

  const EnsuredImage ensured = ensure(true);

  EXPECT_EQ(ensured.run_as, config);
  EXPECT_EQ(ensured.matched_by, "config");
}

TEST_F(EnsureImageTest, PullsByDigestWhatIsNotThere) {
  engine.remote[pin.run_as] = {.id = config};

  const EnsuredImage ensured = ensure();

  EXPECT_EQ(std::ranges::count(engine.calls, "pull " + pin.run_as + " linux/arm64 quietly"), 1);
}

TEST_F(EnsureImageTest, PullsNothingOffline) {
  const Error error = ensure_error(true);

  EXPECT_EQ(error.id(), "registry.offline");
  EXPECT_EQ(error.what(),
            pin.run_as + " is not in the engine's store, and --offline forbids to pull it");
  EXPECT_FALSE(std::ranges::any_of(
      engine.calls, [](const std::string& call) { return call.starts_with("pull"); }));
}

// Docker's classic store keeps one platform per index digest (moby#43188).
TEST_F(EnsureImageTest, GoesByTheManifestWhereTheIndexNamesAnotherPlatform) {
  engine.images[pin.run_as] = {.id = digest_of("the other platform")};
  engine.remote[name + "@" + manifest] = {.id = config};

  const EnsuredImage ensured = ensure();

  EXPECT_EQ(ensured.run_as, name + "@" + manifest);
  EXPECT_EQ(ensured.matched_by, "config");
}

TEST_F(EnsureImageTest, RefusesOtherContent) {
  pin.index.clear();
  pin.run_as = name + "@" + manifest;
  engine.images[pin.run_as] = {.id = digest_of("other")};

  const Error error = ensure_error();

  EXPECT_EQ(error.id(), "engine.other_content");
  EXPECT_EQ(error.what(), "the engine's image for " + pin.run_as + " is " + digest_of("other") +
                              ", not the pinned " + config);
  EXPECT_TRUE(
      error.hint().starts_with("remove the local image (`docker image rm " + pin.run_as + "`)"));
}

TEST_F(EnsureImageTest, RefusesOtherContentUnderBothDigests) {
  engine.images[pin.run_as] = {.id = digest_of("other")};
  engine.remote[name + "@" + manifest] = {.id = digest_of("another")};

  EXPECT_EQ(ensure_error().id(), "engine.other_content");
}

TEST_F(EnsureImageTest, RefusesOtherContentAfterAPullToo) {
  pin.index.clear();
  pin.run_as = name + "@" + manifest;
  engine.remote[pin.run_as] = {.id = digest_of("other")};

  EXPECT_EQ(ensure_error().id(), "engine.other_content");
}

TEST_F(EnsureImageTest, SaysWhatWasBeingPulled) {
  engine.failures.emplace("pull", Error{"engine.failed", "no space left"});

  EXPECT_EQ(ensure_error().context(), std::vector<std::string>{"pulling " + pin.run_as});
}

TEST_F(EnsureImageTest, DoesNotBelieveAPullThatLeavesNothing) {
  const Error error = ensure_error();

  EXPECT_EQ(error.id(), "engine.failed");
  EXPECT_EQ(error.what(), "docker pulled " + pin.run_as + " and does not know it now");
}

}  // namespace
}  // namespace sparkrun::run
