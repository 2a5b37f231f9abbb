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
  const auto state = [&](const sys::ProcessResult& status) {
    world.processes.on(git("status"), status);
    return record_context(prepared, {}, nullptr, world.system).git;
  };
  const std::string head = "# branch.oid 0123abcd\n# branch.head main\n";
  const std::string changed = "1 .M N... 100644 100644 100644 01 01 profiles/app.toml\n";
  world.processes.on(git("rev-parse"), {.out = "0123abcd\n"});

  const auto clean = state({.out = head}), dirty = state({.out = head + changed});
  const auto unknown = state({.exit = 143, .timed_out = true});

  EXPECT_EQ(clean->commit, "0123abcd");
  EXPECT_FALSE(clean->is_dirty);
  EXPECT_EQ(dirty->commit, "0123abcd");
  EXPECT_TRUE(dirty->is_dirty);
  EXPECT_EQ(unknown->commit, "0123abcd");
  EXPECT_TRUE(unknown->is_dirty);
  EXPECT_FALSE(state({.out = "# branch.oid (initial)\n# branch.head main\n"}));
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
