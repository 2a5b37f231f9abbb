// SPDX-License-Identifier: MIT
#include "run/images.hpp"

#include "base/error.hpp"
#include "support/error_of.hpp"
#include "support/fake_engine.hpp"
#include "support/fake_image.hpp"
#include "support/test_system.hpp"

#include <gtest/gtest.h>

namespace sparkrun::run {
namespace {

using test::digest_of;
using Strings = std::vector<std::string>;

std::string lock_text(const std::string& index, const std::string& manifest) {
  return "image = \"reg.test/app:1\"\nindex = \"" + digest_of(index) +
         "\"\nversion = 1\n\n[platform.\"linux/arm64\"]\nmanifest = \"" + digest_of(manifest) +
         "\"\n";
}

const std::string tag = "sparkrun/a:pinned-0123456789ab";

class ImagesTest : public testing::Test {
 protected:
  std::vector<KeptImage> kept(const std::vector<audit::Run>& runs = {}) {
    const TimePoint since = world.clock.now() - std::chrono::hours{24};
    return kept_images(
        engine, image_needs({.root = world.work(), .is_project = true}, world.system, runs, since));
  }

  test::TestSystem world;
  test::FakeEngine engine;
};

TEST_F(ImagesTest, AreNeededByLocksAndRecentRuns) {
  world.folder.write("work/lockfiles/app.lock", lock_text("index", "manifest"));
  const auto elsewhere = world.folder.write("elsewhere/lockfiles/b.lock", lock_text("i3", "m3"));
  const auto now = world.clock.now();
  const std::vector<audit::Run> runs = {
      {.id = "01A", .time = now, .config = digest_of("config")},
      {.id = "01B", .time = now - std::chrono::hours{25}, .config = digest_of("old")},
      {.id = "01C", .time = now - std::chrono::hours{999}, .lock_path = elsewhere.string()},
      {.id = "01D", .time = now - std::chrono::hours{999}, .lock_path = "/gone/lockfiles/c.lock"},
  };
  const auto by_digest = [](const std::string& name) {
    return engine::StoredImage{.id = digest_of("id " + name),
                               .tags = {tag},
                               .repo_digests = {"reg.test/app@" + digest_of(name)}};
  };
  engine.tagged = {by_digest("index"),
                   by_digest("remembered"),
                   {.id = digest_of("config"), .tags = {tag}},
                   {.id = digest_of("old"), .tags = {tag}},
                   by_digest("m3"),
                   by_digest("unknown")};

  const auto images = kept(runs);

  ASSERT_EQ(images.size(), 6U);
  EXPECT_EQ(images[0].needed_by, Strings{"lock " + (world.work() / "lockfiles/app.lock").string()});
  EXPECT_TRUE(images[1].needed_by.empty());
  EXPECT_FALSE(images[1].is_own);  // no run of ours ever used it
  EXPECT_EQ(images[2].needed_by, Strings{"run 01A"});
  EXPECT_TRUE(images[3].needed_by.empty());
  EXPECT_TRUE(images[3].is_own);
  EXPECT_EQ(images[4].needed_by, Strings{"lock " + elsewhere.string()});
  EXPECT_TRUE(images[5].needed_by.empty());
}

TEST_F(ImagesTest, AreNotOursByTheirFolderAlone) {
  engine.tagged = {{.tags = {"sparkrun/dev:latest"}}, {.tags = {"sparkrun/a:pinned-x"}}, {}};

  EXPECT_TRUE(kept().empty());
}

TEST_F(ImagesTest, ALockThatCannotBeReadMayNeedAnything) {
  world.folder.write("work/lockfiles/app.lock", "no lock");

  EXPECT_EQ(test::error_of([&] { kept(); }).id(), "lock.invalid");
}

TEST_F(ImagesTest, LoseOurNamesOnlyWhereOthersGaveThemOne) {
  const KeptImage ours{.image = {.id = "sha256:1",
                                 .tags = {tag, "localhost/" + tag},
                                 .repo_digests = {"reg.test/a@sha256:1"}},
                       .needed_by = {}};
  const KeptImage shared{
      .image = {.tags = {tag, "mine:1"}, .repo_digests = {"reg.test/a@sha256:1"}}, .needed_by = {}};

  EXPECT_EQ(ours.removable_names(),
            (Strings{tag, "localhost/" + tag, "reg.test/a@sha256:1", "sha256:1"}));
  EXPECT_EQ(shared.removable_names(), Strings{tag});
}

}  // namespace
}  // namespace sparkrun::run
