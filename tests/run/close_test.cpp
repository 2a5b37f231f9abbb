// SPDX-License-Identifier: MIT
#include "run/close.hpp"

#include "base/json_value.hpp"
#include "run/run_folder.hpp"
#include "support/fake_engine.hpp"
#include "support/test_system.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

namespace sparkrun::run {
namespace {

using test::TempDir;

const std::string container_id(64, 'c');

TEST(StatusFile, SaysHowAContainerEnded) {
  const TempDir folder;

  StatusFile{(folder / "status").string()}.write(
      {.run = "01ARYZ6S410000000000000000", .ended = {.exit = 3}, .origin = "container"});

  EXPECT_EQ(
      folder.read("status"),
      R"({"origin":"container","exit":3,"error":null,"run":"01ARYZ6S410000000000000000","retry":false})"
      "\n");
}

TEST(StatusFile, SaysThatTheEngineRefused) {
  const TempDir folder;

  StatusFile{(folder / "status").string()}.write(
      {.run = "R", .ended = {.exit = 125}, .origin = "engine"});

  EXPECT_EQ(folder.read("status"),
            R"({"origin":"engine","exit":125,"error":null,"run":"R","retry":true})"
            "\n");
}

TEST(StatusFile, SaysWhySparkrunRefused) {
  const TempDir folder;
  const StatusFile file{(folder / "status").string()};

  file.write_refusal(Error{"lock.stale", "stale"}, 103);
  EXPECT_EQ(folder.read("status"),
            R"({"origin":"sparkrun","exit":103,"error":"lock.stale","run":null,"retry":false})"
            "\n");

  file.write_refusal(Error{"registry.timeout", "slow"}, 105);
  EXPECT_EQ(folder.read("status"),
            R"({"origin":"sparkrun","exit":105,"error":"registry.timeout","run":null,"retry":true})"
            "\n");
}

TEST(StatusFile, IsNotWrittenWithoutAPath) {
  EXPECT_NO_THROW(StatusFile{""}.write({.run = "R", .ended = {}, .origin = "container"}));
  EXPECT_NO_THROW(StatusFile{""}.write_refusal(Error{"bug", "b"}, 170));
}

class CloseTest : public testing::Test {
 protected:
  CloseTest() {
    engine.script = &script;
    prepared.id = "01ARYZ6S410000000000000000";
    prepared.project.root = world.work();
    prepared.host.id = "0123456789abcdef";
    prepared.plan.profile.name = "app";
    prepared.plan.image = {.reference = "reg.test/app:1",
                           .run_as = "reg.test/app@sha256:1",
                           .index = "sha256:1",
                           .manifest = "sha256:2",
                           .config = "sha256:3"};
    ensured = {.image = {.id = "sha256:3", .repo_digests = {"reg.test/app@sha256:1"}},
               .run_as = "reg.test/app@sha256:1",
               .matched_by = "config"};
  }

  Closing launch() {
    return launch_recorded(prepared, ensured, nullptr, engine, recorder, world.system);
  }

  // The records so far, oldest first.
  [[nodiscard]] std::vector<Json> records() const {
    std::vector<Json> all;
    audit::Ledger{ledger_folder(settings, world.system.environment, "0123456789abcdef"),
                  world.clock}
        .read_all([&](const Json& record) { all.push_back(record); });
    return all;
  }
  [[nodiscard]] std::vector<std::string> events() const {
    std::vector<std::string> names;
    for (const Json& record : records()) names.push_back(string_or(record, "event"));
    return names;
  }
  // Does what docker does with --cidfile.
  std::function<void()> create_container() {
    return [this] {
      const auto& argv = engine.started.at(0);
      const std::string file = *(std::ranges::find(argv, "--cidfile") + 1);
      std::ofstream{file} << container_id;
    };
  }

  test::TestSystem world;
  test::FakeEngine engine;
  test::ForegroundScript script{&world.clock};
  config::Settings settings;
  Recorder recorder{settings, world.system, "0123456789abcdef"};
  Prepared prepared;
  EnsuredImage ensured;
};

TEST_F(CloseTest, RecordsTheStartBeforeTheContainerExists) {
  std::vector<std::string> events_at_start;
  script.first([&] { events_at_start = events(); }).exit(0);

  launch();

  EXPECT_EQ(events_at_start, std::vector<std::string>{"run.start"});
}

TEST_F(CloseTest, RecordsStartBindingAndEnd) {
  engine.containers[container_id] = {.id = container_id, .image = "sha256:3"};
  script.first(create_container()).time_out().exit(3);

  const Closing closing = launch();

  EXPECT_EQ(closing.run, prepared.id);
  EXPECT_EQ(closing.ended.exit, 3);
  EXPECT_EQ(closing.origin, "container");
  EXPECT_EQ(events(), (std::vector<std::string>{"run.start", "run.bound", "run.end"}));
  for (const Json& record : records()) EXPECT_EQ(string_or(record, "run"), prepared.id);
  EXPECT_EQ(integer_or(records().at(2), "exit", -1), 3);
  EXPECT_FALSE(recorder.head().empty());
}

TEST_F(CloseTest, RecordsTheWholeCommandLine) {
  script.exit(0);

  launch();

  EXPECT_EQ(member(records().at(0), "argv"), Json(engine.started.at(0)));
}

TEST_F(CloseTest, NamesLabelsAndTracesTheContainer) {
  script.exit(0);

  launch();

  const std::string line = [&] {
    std::string all;
    for (const std::string& word : engine.started.at(0)) all += word + " ";
    return all;
  }();
  for (const std::string_view part :
       {"--name sparkrun-app-000000 ", "--label dev.sparkrun.run=01ARYZ6S410000000000000000 ",
        "--label dev.sparkrun.profile=app ", "--label dev.sparkrun.digest=sha256:1 ",
        "-e SPARKRUN_RUN_ID=01ARYZ6S410000000000000000 ", "-e SPARKRUN_IMAGE_DIGEST=sha256:1 "}) {
    EXPECT_NE(line.find(part), std::string::npos) << part << "in " << line;
  }
}

TEST_F(CloseTest, BlamesTheEngineForAContainerThatItRefused) {
  script.exit(125);

  EXPECT_EQ(launch().origin, "engine");
}

TEST_F(CloseTest, BlamesTheEngineForAContainerThatItMadeAndCouldNotStart) {
  script.first(create_container()).exit(125);

  EXPECT_EQ(launch().origin, "engine");
}

TEST_F(CloseTest, DoesNotBlameTheEngineForWhatTheJobDid) {
  script.first(create_container()).exit(126);

  EXPECT_EQ(launch().origin, "container");
}

TEST_F(CloseTest, LeavesNoRunFolderBehind) {
  script.first(create_container()).exit(0);

  launch();

  EXPECT_TRUE(sys::fs::is_empty(world.folder / "state/sparkrun/runs"));
}

TEST_F(CloseTest, MakesTheFoldersOfMountsAsTheCaller) {
  prepared.plan.mounts = {
      {.source = (world.work() / "a/b").string(), .target = "/a", .must_create = true},
      {.source = (world.work() / "c").string(), .target = "/c"}};
  script.exit(0);

  launch();

  EXPECT_TRUE(sys::is_folder(world.work() / "a/b"));
  EXPECT_FALSE(sys::path_exists(world.work() / "c"));
}

TEST_F(CloseTest, StartsNothingWithoutARecord) {
  world.folder.write("state/sparkrun/audit", "in the way");
  try {
    launch();
    FAIL() << "launched";
  } catch (const Error& error) {
    EXPECT_EQ(error.id(), "ledger.unwritable");
  }
  EXPECT_TRUE(engine.started.empty());
}

TEST_F(CloseTest, RecordsARefusal) {
  record_refusal(prepared, Error{"engine.other_content", "other"}, {}, recorder, world.system);

  EXPECT_EQ(events(), std::vector<std::string>{"run.refused"});
  EXPECT_NE(to_json_line(records().at(0)).find("engine.other_content"), std::string::npos);
}

TEST_F(CloseTest, DoesNotHideARefusalBehindTheLedger) {
  world.folder.write("state/sparkrun/audit", "in the way");

  EXPECT_NO_THROW(
      record_refusal(prepared, Error{"lock.stale", "stale"}, {}, recorder, world.system));

  EXPECT_EQ(recorder.warnings().size(), 1U);
}

TEST_F(CloseTest, LeavesTheRunOpenWhereTheEngineIsGone) {
  engine.failures.emplace("find_container", Error{"engine.unreachable", "no socket"});
  script.first(create_container()).exit(125);

  const Closing closing = launch();

  EXPECT_EQ(closing.origin, "engine");
  EXPECT_EQ(events(), (std::vector<std::string>{"run.start", "run.bound"}));
  EXPECT_TRUE(RunFolder::find(world.system.environment, prepared.id));
}

}  // namespace
}  // namespace sparkrun::run
