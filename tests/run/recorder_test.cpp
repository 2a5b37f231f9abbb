// SPDX-License-Identifier: MIT
#include "run/recorder.hpp"

#include "base/error.hpp"
#include "base/json_value.hpp"
#include "support/test_system.hpp"

#include <gtest/gtest.h>

namespace sparkrun::run {
namespace {

using test::TestSystem;

const Json record{{"event", "run.start"}, {"run", "R"}};

class RecorderTest : public testing::Test {
 protected:
  Recorder recorder(const std::string& mode) {
    config::Settings settings;
    settings.set("audit", mode, "test");
    settings.set("audit_dir", (world.folder / "ledgers").string(), "test");
    return {settings, world.system, "host"};
  }
  void block_the_ledger() const { world.folder.write("ledgers", "a file, not a folder"); }
  [[nodiscard]] fs::path folder() const {
    return world.folder / "ledgers/host" / std::to_string(world.system.environment.uid);
  }

  TestSystem world;
};

TEST_F(RecorderTest, WritesTheLedgerOfHostAndUser) {
  Recorder required = recorder("required");

  required.append(record);

  EXPECT_TRUE(fs::exists(folder() / "2026-07.jsonl"));
  EXPECT_TRUE(required.head().starts_with("1:")) << required.head();
  EXPECT_TRUE(required.warnings().empty());
}

TEST_F(RecorderTest, ThrowsWhenARequiredRecordCannotBeWritten) {
  block_the_ledger();
  Recorder required = recorder("required");
  try {
    required.append(record);
    FAIL() << "written";
  } catch (const Error& error) {
    EXPECT_EQ(error.id(), "ledger.unwritable");
  }
}

TEST_F(RecorderTest, OnlyWarnsOnceTheJobRuns) {
  block_the_ledger();
  Recorder required = recorder("required");

  required.append_or_warn(record);

  ASSERT_EQ(required.warnings().size(), 1U);
  EXPECT_TRUE(required.warnings().front().starts_with("not recorded: "));
  EXPECT_EQ(required.head(), "");
}

TEST_F(RecorderTest, OnlyWarnsWhereTheBestEffortWillDo) {
  block_the_ledger();
  Recorder best_effort = recorder("best-effort");

  best_effort.append(record);

  EXPECT_EQ(best_effort.warnings().size(), 1U);
}

TEST_F(RecorderTest, WritesNothingWhenItIsOff) {
  Recorder off = recorder("off");

  off.append(record);
  off.append_or_warn(record);

  EXPECT_FALSE(fs::exists(world.folder / "ledgers"));
  EXPECT_EQ(off.head(), "");
}

TEST_F(RecorderTest, KeepsTheLedgerInTheStateFolderByDefault) {
  EXPECT_EQ(audit_root(config::Settings{}, world.system.environment),
            world.folder / "state/sparkrun/audit");
}

TEST_F(RecorderTest, SaysWhichCommitTheProjectIsAt) {
  Prepared prepared;
  prepared.project.root = "/project";
  // A checkout's own files do not choose what git runs.
  const auto git = [](const std::string& verb) {
    return std::vector<std::string>{
        "git", "--no-optional-locks",  "-c", "safe.bareRepository=explicit",
        "-c",  "core.fsmonitor=false", "-C", "/project",
        verb};
  };
  world.processes.on(git("rev-parse"), {.out = "0123abcd\n"});
  world.processes.on(git("status"), {.out = " M profiles/app.toml\n"});

  const audit::RunContext dirty = record_context(prepared, {}, nullptr, world.system);
  world.processes.on(git("status"), {.out = ""});
  const audit::RunContext clean = record_context(prepared, {}, nullptr, world.system);

  EXPECT_EQ(dirty.git->commit, "0123abcd");
  EXPECT_TRUE(dirty.git->is_dirty);
  EXPECT_FALSE(clean.git->is_dirty);
}

TEST_F(RecorderTest, SaysNothingOfGitOutsideIt) {
  Prepared prepared;

  const audit::RunContext context =
      record_context(prepared, {"docker", "run"}, nullptr, world.system);

  EXPECT_FALSE(context.git);
  EXPECT_EQ(context.preflight->verdict, "not checked");
  EXPECT_EQ(context.argv, (std::vector<std::string>{"docker", "run"}));
  EXPECT_EQ(context.uid, world.system.environment.uid);
}

}  // namespace
}  // namespace sparkrun::run
