// SPDX-License-Identifier: MIT
#include "run/prepare.hpp"

#include "base/error.hpp"
#include "base/ulid.hpp"
#include "support/error_of.hpp"
#include "support/fake_engine.hpp"
#include "support/fake_image.hpp"
#include "support/test_system.hpp"

#include <gtest/gtest.h>

namespace sparkrun::run {
namespace {

using test::digest_of;
using test::FakeEngine;
using test::TestSystem;

TEST(IsImage, LooksForSlashColonAndAt) {
  for (const std::string_view image :
       {"unsloth/unsloth", "ubuntu:24.04", "ubuntu@sha256:00", "/x", "localhost:5000/a"}) {
    EXPECT_TRUE(is_image(image)) << image;
  }
  for (const std::string_view profile : {"pytorch", "unsloth-2", "a_b", "", "nvcr.io"})
    EXPECT_FALSE(is_image(profile)) << profile;
}

struct LockedRow {
  std::optional<bool> flag;
  std::optional<std::string> variable, file, ci;
  bool is_on;
  std::string_view said_by;
};

TEST(LockedMode, AsksFlagsThenVariableThenFileThenCi) {
  const LockedRow rows[] = {
      {{}, {}, {}, {}, false, "CI"},
      {{}, {}, {}, "", false, "CI"},
      {{}, {}, {}, "0", false, "CI"},
      {{}, {}, {}, "False", false, "CI"},
      {{}, {}, {}, "true", true, "CI"},
      {{}, {}, {}, "1", true, "CI"},
      {{}, {}, {}, "woodpecker", true, "CI"},
      {{}, {}, "false", "true", false, "config.toml"},
      {{}, {}, "true", {}, true, "config.toml"},
      {{}, "0", "true", "true", false, "SPARKRUN_LOCKED"},
      {{}, "1", "false", {}, true, "SPARKRUN_LOCKED"},
      {false, "1", "true", "true", false, "--no-locked"},
      {true, "0", "false", {}, true, "--locked"},
  };
  for (const LockedRow& row : rows) {
    TestSystem world;
    if (row.variable) world.set("SPARKRUN_LOCKED", *row.variable);
    if (row.ci) world.set("CI", *row.ci);
    const fs::path file =
        row.file ? world.folder.write("config/sparkrun/config.toml", "locked = " + *row.file + "\n")
                 : "";
    const config::Settings settings =
        config::Settings::load(world.system.environment, world.folder / "none");

    const LockedMode mode = locked_mode({.locked = row.flag}, settings, world.system.environment);

    EXPECT_EQ(mode.is_on, row.is_on) << row.said_by;
    EXPECT_EQ(mode.said_by, row.said_by == "config.toml" ? file.string() : row.said_by);
  }
}

// A project whose profile `app` is locked.
class PrepareTest : public testing::Test {
 protected:
  PrepareTest() {
    write_profile("app");
    world.folder.write("work/lockfiles/app.lock",
                       "image = \"reg.test/app:1\"\nindex = \"" + digest_of("index") +
                           "\"\nversion = 1\n\n[platform.\"linux/arm64\"]\nmanifest = \"" +
                           digest_of("manifest") + "\"\n");
  }

  void write_profile(const std::string& name, const std::string& more = "") const {
    world.folder.write("work/profiles/" + name + ".toml",
                       "version = 1\nimage = \"reg.test/" + name + ":1\"\n" + more);
  }
  [[nodiscard]] config::Settings settings() const {
    return config::Settings::load(world.system.environment, world.folder / "none");
  }
  [[nodiscard]] profile::Project project() const {
    return {.root = world.work(), .is_project = true};
  }
  profile::Profile named(const std::string& target) {
    return find_profile(target, project(), world.system, settings());
  }
  Prepared prepare(const Request& request) {
    return run::prepare(request, project(), world.system, settings(), engine);
  }
  Error prepare_error(const Request& request) {
    try {
      prepare(request);
    } catch (const Error& error) {
      return error;
    }
    return Error{"bug", "no error"};
  }

  TestSystem world;
  FakeEngine engine;
};

TEST_F(PrepareTest, PlansTheLockedImageWithoutTheNetwork) {
  const Prepared prepared = prepare({.profile = named("app")});

  EXPECT_TRUE(is_ulid(prepared.id));
  EXPECT_EQ(prepared.plan.image.run_as, "reg.test/app@" + digest_of("index"));
  EXPECT_EQ(prepared.plan.image.pin, "lock");
  EXPECT_EQ(prepared.lock->source, (world.work() / "lockfiles/app.lock").string());
  EXPECT_EQ(prepared.engine->architecture, "arm64");
  EXPECT_EQ(engine.calls, std::vector<std::string>{"facts"});
  EXPECT_TRUE(world.http.requests().empty());
}

TEST_F(PrepareTest, TakesTheOnlyProfileOfTheProject) { EXPECT_EQ(named("").name, "app"); }

TEST_F(PrepareTest, TakesTheConfiguredProfile) {
  write_profile("other");
  world.set("SPARKRUN_PROFILE", "app");

  EXPECT_EQ(named("").name, "app");
}

TEST_F(PrepareTest, AsksWhichOfSeveralProfiles) {
  write_profile("other");

  const Error error = test::error_of([&] { named(""); });

  EXPECT_EQ(error.id(), "usage.no_profile");
  EXPECT_TRUE(std::string_view{error.what()}.starts_with(
      "which profile? There are 2 profiles in this project; known are: app, other"))
      << error.what();
}

TEST_F(PrepareTest, DoesWithoutAnEngineInADryRun) {
  engine.failures.emplace("facts", Error{"engine.unreachable", "no docker"});

  const Prepared prepared = prepare({.profile = named("app"), .is_dry_run = true});

  EXPECT_FALSE(prepared.engine);
  EXPECT_EQ(prepared.engine_note, "no docker");
  EXPECT_EQ(prepared.plan.gpu.access, profile::GpuAccess::runtime_and_gpus);
}

TEST_F(PrepareTest, NeedsAnEngineInARealRun) {
  engine.failures.emplace("facts", Error{"engine.unreachable", "no docker"});

  EXPECT_EQ(prepare_error({.profile = named("app")}).id(), "engine.unreachable");
}

TEST_F(PrepareTest, TakesTheFirstListedPlatformWhereTheEnginesIsNotListed) {
  engine.known.architecture = "amd64";

  EXPECT_EQ(prepare({.profile = named("app")}).plan.image.platform, "linux/arm64");
}

TEST_F(PrepareTest, RefusesAPlatformThatTheLockLacks) {
  const Error error = prepare_error({.profile = named("app"), .platform = "linux/x86_64"});

  EXPECT_EQ(error.id(), "registry.platform_missing");
  EXPECT_STREQ(
      error.what(),
      "the pin of reg.test/app:1 has no linux/amd64; it has linux/arm64 (`platforms` in the "
      "profile and `sparkrun lock` add one)");
}

TEST_F(PrepareTest, RefusesWhatIsNoPlatform) {
  EXPECT_EQ(prepare_error({.profile = named("app"), .platform = "arm64"}).id(),
            "platform.malformed");
}

TEST_F(PrepareTest, AsksForTrustBeforeARealRunOnly) {
  write_profile("app", "[container]\nprivileged = true\n");

  const Error error = prepare_error({.profile = named("app")});

  EXPECT_EQ(error.id(), "trust.not_allowed");
  EXPECT_NO_THROW(prepare({.profile = named("app"), .is_dry_run = true}));
  EXPECT_NO_THROW(prepare({.profile = named("app"), .allow = {"privileged"}}));
  world.set("SPARKRUN_ALLOW", "privileged");
  EXPECT_NO_THROW(prepare({.profile = named("app")}));
}

TEST_F(PrepareTest, NamesTheRegistryForPodman) {
  engine.known.name = "podman";
  engine.words = {"podman"};

  const Prepared prepared = prepare({.profile = named("app")});

  EXPECT_EQ(prepared.plan.image.run_as, "reg.test/app@" + digest_of("index"));
  EXPECT_EQ(prepared.plan.engine.command, std::vector<std::string>{"podman"});
}

struct EngineRow {
  std::string_view flag, profile, config;
  std::string_view name;
  bool has_command;
};

TEST(ChooseEngine, AsksFlagThenProfileThenConfig) {
  const EngineRow rows[] = {
      {"", "", "", "docker", true},  // the command says so
      {"", "", "podman", "podman", false},
      {"", "docker", "podman", "docker", true},
      {"", "podman", "docker", "podman", false},
      {"", "podman", "", "podman", false},
      {"docker", "podman", "podman", "docker", true},
      {"podman", "", "docker", "podman", false},
  };
  for (const EngineRow& row : rows) {
    TestSystem world;
    world.set("SPARKRUN_ENGINE", std::string{row.config});
    world.set("SPARKRUN_ENGINE_COMMAND", "sudo,-n,docker");
    config::Settings settings =
        config::Settings::load(world.system.environment, world.folder / "none");
    if (!row.flag.empty()) settings.set("engine", std::string{row.flag}, "--engine");
    const profile::Profile profile{.name = "p", .engine = std::string{row.profile}};

    const engine::Choice choice = choose_engine(&profile, settings);

    EXPECT_EQ(choice.name, row.name);
    EXPECT_EQ(!choice.command.empty(), row.has_command) << row.name;
  }
}

TEST_F(PrepareTest, SaysThatAProfileDoesNotExist) {
  EXPECT_EQ(test::error_of([&] { named("apq"); }).id(), "profile.unknown");
}

}  // namespace
}  // namespace sparkrun::run
