// SPDX-License-Identifier: MIT
#include "audit/query.hpp"

#include "audit/ledger_fixture.hpp"
#include "audit/record.hpp"
#include "base/error.hpp"

namespace sparkrun::audit {
namespace {

const std::string first_id = "01J2QWERTY0000000000000001";
const std::string second_id = "01J2QWERTY0000000000000002";
const std::string third_id = "01J3ZZZZZZ0000000000000003";

class QueryTest : public LedgerTest {
 protected:
  QueryTest() {
    plan_.profile.name = "pytorch";
    plan_.image.index = "sha256:" + std::string(64, 'a');
    plan_.image.config = "sha256:" + std::string(64, 'c');
    const RunContext context{.plan = &plan_, .host = &host_, .argv = {"docker", "run"}};
    std::ignore = ledger().append(run_start(first_id, context));
    std::ignore = ledger().append(run_bound(first_id, {.container = "c1"}));
    std::ignore =
        ledger().append(run_end(first_id, {.exit = 137, .duration = std::chrono::seconds{2}}));
    set_time("2026-08-01T00:00:00.000Z");
    std::ignore = ledger().append(run_start(second_id, context));
    set_time("2026-08-02T00:00:00.000Z");
    std::ignore = ledger().append(run_refused(third_id, context, {"preflight.blocked", "G1"}));
  }
  [[nodiscard]] std::vector<audit::Run> runs(std::string_view boot = {}) const {
    const std::vector<Ledger> ledgers{ledger()};
    return list(ledgers, boot);
  }
  [[nodiscard]] std::string find(std::string_view text) const {
    try {
      const auto all = runs();
      return find_run(all, text).id;
    } catch (const Error& error) {
      return std::string{error.id()} + ": " + error.what();
    }
  }

  plan::RunPlan plan_;
  sys::HostFacts host_{.id = "h", .boot_id = "boot1", .user = "ci"};
};

TEST_F(QueryTest, FoldsTheEventsOfARunAndListsTheNewestFirst) {
  const auto all = runs();

  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].id, third_id);
  EXPECT_EQ(all[0].state, RunState::refused);
  EXPECT_EQ(all[0].error, "preflight.blocked");
  const audit::Run& ended = all[2];
  EXPECT_EQ(ended.state, RunState::ended);
  EXPECT_EQ(ended.exit, 137);
  EXPECT_EQ(ended.signal, 9);
  EXPECT_EQ(ended.duration, std::chrono::seconds{2});
  EXPECT_EQ(ended.container, "c1");
  EXPECT_EQ(ended.profile, "pytorch");
  EXPECT_EQ(ended.argv, (std::vector<std::string>{"docker", "run"}));
}

TEST_F(QueryTest, TakesAnOpenRunForRunningOnTheSameBootOnly) {
  EXPECT_EQ(runs("boot1").at(1).state, RunState::running);
  EXPECT_EQ(runs("boot2").at(1).state, RunState::unknown);
  EXPECT_EQ(runs().at(1).state, RunState::unknown);
}

TEST_F(QueryTest, FindsARunByIdPrefixOrAge) {
  EXPECT_EQ(find(first_id), first_id);
  EXPECT_EQ(find("01J3"), third_id);
  EXPECT_EQ(find("01j3zz"), third_id);
  EXPECT_EQ(find("^1"), third_id);
  EXPECT_EQ(find("^3"), first_id);
}

TEST_F(QueryTest, RefusesWhatNamesNoRun) {
  const std::pair<const char*, const char*> cases[] = {
      {"01J", "ledger.unknown_run: `01J` is too short: the first 4 characters of an id are needed"},
      {"01J2", "ledger.unknown_run: `01J2` is the start of 2 run ids"},
      {"ZZZZ", "ledger.unknown_run: `ZZZZ` is no run of this ledger"},
      {"^4", "ledger.unknown_run: `^4` names no run: the ledger has 3"},
      {"^0",
       "ledger.unknown_run: `^0` names no run: write ^1 for the newest, ^2 for the one before"},
      {"^", "ledger.unknown_run: `^` names no run: write ^1 for the newest, ^2 for the one before"},
  };
  for (const auto& [text, answer] : cases) EXPECT_EQ(find(text), answer);
}

TEST_F(QueryTest, NamesTheCandidatesOfAnAmbiguousPrefix) {
  const auto all = runs();
  try {
    std::ignore = find_run(all, "01J2");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.problems(), (std::vector<std::string>{second_id, first_id}));
  }
}

TEST_F(QueryTest, SaysWhichDigestMatches) {
  const audit::Run run = runs().front();

  EXPECT_EQ(matching_digest(run, std::string(12, 'a')), "index");
  EXPECT_EQ(matching_digest(run, "sha256:" + std::string(64, 'c')), "config");
  EXPECT_EQ(matching_digest(run, std::string(11, 'a')), std::nullopt);
  EXPECT_EQ(matching_digest(run, std::string(12, 'd')), std::nullopt);
}

TEST_F(QueryTest, GivesTheRecordsOfOneRun) {
  const std::vector<Ledger> ledgers{ledger()};

  const auto events = events_of(ledgers, first_id);

  ASSERT_EQ(events.size(), 3U);
  EXPECT_EQ(string_or(events[2], "event"), "run.end");
}

TEST_F(QueryTest, WritesWhatIsKnownOfARunAsJson) {
  EXPECT_EQ(
      to_json_line(to_json(runs().front())),
      R"({"run":"01J3ZZZZZZ0000000000000003","state":"refused","time":"2026-08-02T00:00:00.000Z",)"
      R"("profile":"pytorch","image":{"index":"sha256:)" +
          std::string(64, 'a') + R"(","config":"sha256:)" + std::string(64, 'c') +
          R"("},"user":"ci","argv":["docker","run"],"error":"preflight.blocked","message":"G1"})");
}

TEST_F(QueryTest, PassesOverMembersOfAnotherType) {
  std::ignore =
      ledger().append({{"event", "run.start"}, {"run", "01J4"}, {"image", 7}, {"argv", "x"}});

  EXPECT_EQ(runs().front().id, "01J4");
}

}  // namespace
}  // namespace sparkrun::audit
