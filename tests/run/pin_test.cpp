// SPDX-License-Identifier: MIT
#include "run/pin.hpp"

#include "base/error.hpp"
#include "support/fake_image.hpp"
#include "support/test_system.hpp"

#include <gtest/gtest.h>

namespace sparkrun::run {
namespace {

using test::digest_of;
using test::FakeImage;
using test::make_image;
using test::make_index;
using test::TestSystem;

constexpr std::string_view repository = "https://reg.test/v2/app";

class PinTest : public testing::Test {
 protected:
  PinTest() {
    profile.name = "app";
    profile.origin = profile::Origin::project;
    profile.image = "reg.test/app:1";
    serve_image(world.http, std::string{repository}, arm);
    point_tag_at(index);
  }

  void point_tag_at(const std::string& body) {
    world.http.on(std::string{repository} + "/manifests/1").reply(200, body);
    world.http.on(std::string{repository} + "/manifests/" + digest_of(body)).reply(200, body);
  }
  // Makes the profile one of `run IMAGE`.
  void use_image(const std::string& reference) {
    profile.origin = profile::Origin::image;
    profile.image = reference;
    profile.platforms.clear();
    has_lock_path = false;
  }
  void write_lock(const std::string& image, const std::string& digest = "") const {
    world.folder.write("work/lockfiles/app.lock",
                       "image = \"" + image + "\"\nindex = \"" +
                           (digest.empty() ? digest_of("locked") : digest) +
                           "\"\nversion = 1\n\n[platform.\"linux/arm64\"]\nmanifest = \"" +
                           digest_of(arm.manifest) + "\"\n");
  }

  PinChoice choose() {
    const config::Settings settings =
        config::Settings::load(world.system.environment, world.folder / "none");
    std::optional<fs::path> lock_path;
    if (has_lock_path) lock_path = world.work() / "lockfiles/app.lock";
    return choose_pin({.profile = profile,
                       .platform = "linux/arm64",
                       .lock_path = lock_path,
                       .root = world.work(),
                       .locked = locked,
                       .latest = latest,
                       .may_remember = may_remember},
                      world.system, settings);
  }
  Error choose_error() {
    try {
      choose();
    } catch (const Error& error) {
      return error;
    }
    return Error{"bug", "no error"};
  }

  const FakeImage arm = make_image("linux/arm64"), new_arm = make_image("linux/arm64", "NEW=1");
  const std::string index = make_index({child_json(arm)}),
                    new_index = make_index({child_json(new_arm)});
  TestSystem world;
  profile::Profile profile;
  LockedMode locked;
  bool has_lock_path = true, latest = false, may_remember = true;
};

TEST_F(PinTest, IsTheLocksAndSendsNoPacket) {
  write_lock("reg.test/app:1");

  const PinChoice choice = choose();

  EXPECT_EQ(choice.image.reference, "reg.test/app:1");
  EXPECT_EQ(choice.image.run_as, "reg.test/app@" + digest_of("locked"));
  EXPECT_EQ(choice.image.index, digest_of("locked"));
  EXPECT_EQ(choice.image.manifest, digest_of(arm.manifest));
  EXPECT_EQ(choice.image.config, "");
  EXPECT_EQ(choice.image.platform, "linux/arm64");
  EXPECT_EQ(choice.image.pin, "lock");
  EXPECT_TRUE(choice.lock);
  EXPECT_TRUE(choice.notes.empty());
  EXPECT_TRUE(world.http.requests().empty());
}

TEST_F(PinTest, IsTheManifestWhereTheLockHasNoIndex) {
  world.folder.write(
      "work/lockfiles/app.lock",
      "image = \"reg.test/app:1\"\nversion = 1\n[platform.\"linux/arm64\"]\nmanifest = \"" +
          digest_of("m") + "\"\n");

  EXPECT_EQ(choose().image.run_as, "reg.test/app@" + digest_of("m"));
}

TEST_F(PinTest, IsRefusedWithEveryReasonWhenTheLockIsStale) {
  write_lock("reg.test/app:0");
  profile.platforms = {"linux/amd64"};

  const Error error = choose_error();

  EXPECT_EQ(error.id(), "lock.stale");
  EXPECT_EQ(error.what(), "the lock of profile `app` is stale (" +
                              (world.work() / "lockfiles/app.lock").string() + ")");
  EXPECT_EQ(error.hint(),
            "run `sparkrun lock app` to pin what the profile says now, and review the change");
  EXPECT_EQ(error.problems(),
            (std::vector<std::string>{
                "image: the profile says reg.test/app:1, the lock was made for reg.test/app:0",
                "platforms: the profile lists linux/amd64, the lock has no such entry",
                "platforms: the lock has linux/arm64, the profile does not list it"}));
}

TEST_F(PinTest, IsMissingWhereOnlyALockWillDo) {
  locked = {true, "CI"};

  const Error error = choose_error();

  EXPECT_EQ(error.id(), "lock.missing");
  EXPECT_STREQ(error.what(), "profile `app` has no lock, and CI asks for one");
  EXPECT_TRUE(world.http.requests().empty());
}

TEST_F(PinTest, IsNotAskedAnewWhereOnlyALockWillDo) {
  write_lock("reg.test/app:1");
  locked = {true, "SPARKRUN_LOCKED"};
  EXPECT_EQ(choose().image.pin, "lock");

  latest = true;
  const Error error = choose_error();

  EXPECT_EQ(error.id(), "usage.bad_value");
  EXPECT_STREQ(error.what(), "--latest asks the registry, and SPARKRUN_LOCKED allows only a lock");
}

TEST_F(PinTest, IsAskedOnceAndRemembered) {
  const PinChoice first = choose();
  const size_t asked = world.http.requests().size();
  point_tag_at(new_index);

  const PinChoice second = choose();

  EXPECT_GT(asked, 0U);
  EXPECT_EQ(world.http.requests().size(), asked);
  EXPECT_EQ(first.image.run_as, "reg.test/app@" + digest_of(index));
  EXPECT_EQ(first.image.config, digest_of(arm.config));
  EXPECT_EQ(second.image.run_as, first.image.run_as);
  EXPECT_EQ(second.image.pin, "remembered");
  EXPECT_EQ(first.notes,
            std::vector<std::string>{"profile `app` has no lock: pinned to what the tag points at "
                                     "now; `sparkrun lock app` makes it reviewable"});
  EXPECT_EQ(second.notes,
            std::vector<std::string>{"profile `app` has no lock: pinned as in the first run here; "
                                     "`sparkrun lock app` makes it reviewable"});
}

TEST_F(PinTest, IsRememberedPerRoot) {
  choose();
  const fs::path here = lock::remembered_path(world.system.environment, world.work(), "app");

  EXPECT_TRUE(fs::exists(here));
  EXPECT_EQ(fs::status(here).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(fs::status(here.parent_path()).permissions(), fs::perms::owner_all);
}

TEST_F(PinTest, IsForgottenWhenTheProfileNamesAnotherImage) {
  choose();
  profile.image = "reg.test/app:2";
  world.http.on(std::string{repository} + "/manifests/2").reply(200, index);

  choose();

  EXPECT_EQ(world.http.count(std::string{repository} + "/manifests/2"), 1);
}

TEST_F(PinTest, IsNotRememberedInADryRun) {
  may_remember = false;

  choose();

  EXPECT_FALSE(fs::exists(world.folder / "state/sparkrun"));
}

TEST_F(PinTest, IsMovedByLatest) {
  choose();
  serve_image(world.http, std::string{repository}, new_arm);
  point_tag_at(new_index);
  latest = true;
  EXPECT_EQ(choose().image.index, digest_of(new_index));

  latest = false;

  EXPECT_EQ(choose().image.index, digest_of(new_index));
}

TEST_F(PinTest, CannotBeAskedForOffline) {
  world.set("SPARKRUN_OFFLINE", "1");

  const Error error = choose_error();

  EXPECT_EQ(error.id(), "registry.offline");
  EXPECT_STREQ(error.what(), "profile `app` has no pin yet, and --offline forbids to ask for one");
  EXPECT_TRUE(world.http.requests().empty());
}

TEST_F(PinTest, IsRememberedOffline) {
  choose();
  world.set("SPARKRUN_OFFLINE", "1");

  EXPECT_EQ(choose().image.pin, "remembered");
}

TEST_F(PinTest, SaysWhatWentWrongAtTheRegistry) {
  world.http.on(std::string{repository} + "/manifests/1")
      .reply(404, R"({"errors":[{"code":"MANIFEST_UNKNOWN"}]})");

  const Error error = choose_error();

  EXPECT_EQ(error.id(), "registry.not_found");
  EXPECT_EQ(error.context(), std::vector<std::string>{"locking profile `app`"});
}

TEST_F(PinTest, IsTheDigestOfAReferenceThatHasOne) {
  use_image("reg.test/app@" + digest_of(index));
  locked = {true, "CI"};

  const PinChoice choice = choose();

  EXPECT_EQ(choice.image.run_as, "reg.test/app@" + digest_of(index));
  EXPECT_EQ(choice.image.manifest, digest_of(arm.manifest));
  EXPECT_EQ(choice.image.pin, "digest");
  EXPECT_TRUE(choice.notes.empty());
}

TEST_F(PinTest, IsTheBareDigestOffline) {
  use_image("reg.test/app@" + digest_of(index));
  world.set("SPARKRUN_OFFLINE", "1");

  const PinChoice choice = choose();

  EXPECT_EQ(choice.image.run_as, "reg.test/app@" + digest_of(index));
  EXPECT_EQ(choice.image.pin, "digest");
  EXPECT_TRUE(world.http.requests().empty());
}

TEST_F(PinTest, IsTheBareDigestWhenTheRegistryIsOutOfReach) {
  use_image("unreachable.test/app@" + digest_of(index));

  const PinChoice choice = choose();

  EXPECT_EQ(choice.image.run_as, "unreachable.test/app@" + digest_of(index));
  EXPECT_EQ(choice.image.manifest, "");  // nobody said which kind of digest it is
  EXPECT_EQ(choice.notes.size(), 1U);
}

TEST_F(PinTest, OfAnImageIsRememberedByReference) {
  use_image("reg.test/app:1");
  const PinChoice first = choose();
  point_tag_at(new_index);

  EXPECT_EQ(choose().image.run_as, first.image.run_as);
  EXPECT_EQ(first.notes,
            std::vector<std::string>{
                "image `reg.test/app:1` has no lock: pinned to what the tag points at now"});
}

}  // namespace
}  // namespace sparkrun::run
