// SPDX-License-Identifier: MIT
#include "audit/ledger.hpp"

#include "audit/ledger_fixture.hpp"
#include "base/digest.hpp"
#include "base/error.hpp"

#include <fcntl.h>
#include <functional>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace sparkrun::audit {
namespace {

mode_t mode_of(const fs::path& path) {
  struct stat status {};
  EXPECT_EQ(stat(path.c_str(), &status), 0) << path;
  return status.st_mode & 0777;
}

// Runs `action` in a child; whether it came to its end.
pid_t start_child(const std::function<void()>& action) {
  const pid_t pid = fork();
  if (pid != 0) return pid;
  try {
    action();
  } catch (...) {
    _exit(1);
  }
  _exit(0);
}

int wait_for(pid_t pid) {
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

Error error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "nothing was thrown";
  return Error{"bug", ""};
}

TEST_F(LedgerTest, StartsWithZerosAndChainsByTheBytesOfTheLineBefore) {
  const Head first = append();
  const Head second = append();

  const auto all = lines();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(string_or(*parse_json(all[0]), "prev"), std::string(64, '0'));
  EXPECT_EQ(string_or(*parse_json(all[1]), "prev"), sha256_hex(all[0]));
  EXPECT_EQ(first.seq, 1);
  EXPECT_EQ(second.to_string(), "2:" + sha256_hex(all[1]).substr(0, 12));
}

TEST_F(LedgerTest, WritesTheKeysInOneOrder) {
  std::ignore = ledger().append({{"exit", 0}, {"run", "R1"}, {"event", "run.end"}, {"v", 9}});

  EXPECT_EQ(lines().at(0), R"({"v":1,"seq":1,"event":"run.end","run":"R1",)"
                           R"("time":"2026-07-14T09:12:03.114Z","prev":")" +
                               std::string(64, '0') + R"(","exit":0})");
}

TEST_F(LedgerTest, KeepsItsFilesToItsUser) {
  std::ignore = append();

  EXPECT_EQ(mode_of(folder_), 0700U);
  EXPECT_EQ(mode_of(root_ / "host"), 0700U);
  EXPECT_EQ(mode_of(segment()), 0600U);
  EXPECT_EQ(mode_of(folder_ / "lock"), 0600U);
}

TEST_F(LedgerTest, ChainsEightWritersWithoutABreakOrAFork) {
  constexpr int writers = 8, appends = 50;
  std::vector<pid_t> children;
  for (int i = 0; i < writers; ++i) {
    children.push_back(start_child([&] { append_many(appends); }));
  }
  for (const pid_t child : children) EXPECT_EQ(wait_for(child), 0);

  const Verification result = ledger().verify();
  EXPECT_TRUE(result.is_intact()) << faults().front();
  EXPECT_EQ(result.records, static_cast<size_t>(writers * appends));
  EXPECT_EQ(result.head.value().seq, writers * appends);
}

TEST_F(LedgerTest, SurvivesWritersThatAreKilled) {
  const std::string large(200'000, 'x');
  for (int round = 0; round < 4; ++round) {
    const pid_t child = start_child([&] {
      while (true) std::ignore = append(large);
    });
    for (int i = 0; i < 2; ++i) std::ignore = append(large);
    kill(child, SIGKILL);
    EXPECT_EQ(wait_for(child), 128 + SIGKILL);
  }
  std::ignore = append();

  EXPECT_TRUE(ledger().verify().is_intact()) << faults().front();
}

TEST_F(LedgerTest, ContinuesTheChainInANewMonth) {
  append_many(2);
  set_time("2026-08-01T00:00:00.000Z");
  const Head head = append();

  EXPECT_EQ(head.seq, 3);
  EXPECT_TRUE(fs::exists(folder_ / "2026-08.jsonl"));
  const Verification result = ledger().verify();
  EXPECT_TRUE(result.is_intact());
  EXPECT_EQ(result.segments, 2U);
  EXPECT_EQ(result.records, 3U);
}

TEST_F(LedgerTest, StaysInTheNewestMonthWhenTheClockIsSetBack) {
  set_time("2026-08-01T00:00:00.000Z");
  std::ignore = append();
  set_time("2026-07-31T23:00:00.000Z");
  std::ignore = append();

  EXPECT_FALSE(fs::exists(segment()));
  EXPECT_TRUE(ledger().verify().is_intact());
}

TEST_F(LedgerTest, ReadsTheTailBehindARecordOfAMegabyte) {
  std::ignore = append(std::string(1 << 20, 'x'));
  const Head head = append();

  EXPECT_EQ(head.seq, 2);
  EXPECT_TRUE(ledger().verify().is_intact());
}

TEST_F(LedgerTest, RefusesARecordThatIsTooLarge) {
  const Error error = error_of([&] { std::ignore = append(std::string(17 << 20, 'x')); });

  EXPECT_EQ(error.id(), "ledger.unwritable");
  EXPECT_EQ(ledger().verify().records, 0U);
}

TEST_F(LedgerTest, RecordsATornTailAndGoesOn) {
  append_many(2);
  const auto before = lines();
  write(segment(), read(segment()) + R"({"v":1,"seq":3,"event":"run.st)");
  EXPECT_TRUE(ledger().verify().has_torn_tail);

  const Head head = append();

  const auto all = lines();
  ASSERT_EQ(all.size(), 5U);
  const auto torn = parse_json(all[3]).value();
  EXPECT_EQ(string_or(torn, "event"), "tail.torn");
  EXPECT_EQ(integer_or(torn, "seq", 0), 3);
  EXPECT_EQ(string_or(torn, "prev"), sha256_hex(all[2]));
  EXPECT_EQ(string_or(torn, "after"), sha256_hex(before[1]));
  EXPECT_EQ(head.seq, 4);
  EXPECT_EQ(faults(), std::vector<std::string>{});
  EXPECT_EQ(ledger().head().value().seq, 4);
}

TEST_F(LedgerTest, RecordsTheTornTailOfTheMonthBeforeWhereItStands) {
  append_many(2);
  write(segment(), read(segment()) + "{\"v\":1");
  set_time("2026-08-02T00:00:00.000Z");
  const Head head = append();

  EXPECT_EQ(lines().size(), 4U);
  EXPECT_EQ(head.seq, 4);
  EXPECT_EQ(faults(), std::vector<std::string>{});
}

TEST_F(LedgerTest, KeepsAWholeRecordThatOnlyLacksItsNewline) {
  append_many(2);
  std::string text = read(segment());
  text.pop_back();
  write(segment(), text);

  EXPECT_EQ(ledger().head().value().seq, 2);
  EXPECT_EQ(append().seq, 4);
  EXPECT_EQ(faults(), std::vector<std::string>{});
}

TEST_F(LedgerTest, ExplainsATailThatWasTornTwice) {
  append_many(1);
  write(segment(), read(segment()) + "{\"v\":1\n{\"v\":1,\"seq\":2,\"event\":\"tail.to");
  EXPECT_EQ(faults(), std::vector<std::string>{});

  std::ignore = append();

  EXPECT_EQ(faults(), std::vector<std::string>{});
}

TEST_F(LedgerTest, StartsInATornFileThatHoldsNoRecord) {
  fs::create_directories(folder_);
  write(segment(), std::string(100, '\0'));

  EXPECT_EQ(append().seq, 2);
  EXPECT_EQ(faults(), std::vector<std::string>{});
}

TEST_F(LedgerTest, NamesPathAndCauseWhereAFileIsInTheWay) {
  write(root_ / "host", "a file");

  const Error error = error_of([&] { std::ignore = append(); });

  EXPECT_EQ(error.id(), "ledger.unwritable");
  EXPECT_NE(std::string{error.what()}.find((root_ / "host").string()), std::string::npos);
  EXPECT_NE(std::string{error.what()}.find("Not a directory"), std::string::npos) << error.what();
}

TEST_F(LedgerTest, NamesAFolderThatCannotBeMade) {
  const Ledger impossible{"/proc/sparkrun/1000", clock_};

  const Error error = error_of([&] { std::ignore = impossible.append({{"event", "run.start"}}); });

  EXPECT_EQ(error.id(), "ledger.unwritable");
  EXPECT_NE(std::string{error.what()}.find("/proc/sparkrun"), std::string::npos) << error.what();
}

TEST_F(LedgerTest, SaysThatThereIsNoSpace) {
  fs::create_directories(folder_);
  fs::create_symlink("/dev/full", segment());

  const Error error = error_of([&] { std::ignore = append(); });

  EXPECT_EQ(error.id(), "ledger.unwritable");
  EXPECT_NE(std::string{error.what()}.find("No space left"), std::string::npos) << error.what();
}

TEST_F(LedgerTest, TakesBackWhatCouldNotBeWrittenWhole) {
  append_many(1);
  const std::string before = read(segment());
  const pid_t child = start_child([&] {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{.rlim_cur = before.size() + 1000, .rlim_max = before.size() + 1000};
    setrlimit(RLIMIT_FSIZE, &limit);
    const Error error = error_of([&] { std::ignore = append(std::string(5000, 'x')); });
    if (error.id() != "ledger.unwritable") _exit(2);
  });

  EXPECT_EQ(wait_for(child), 0);
  EXPECT_EQ(read(segment()), before);
}

TEST_F(LedgerTest, GivesUpOnALockThatIsNeverReleased) {
  append_many(1);
  const int held = open((folder_ / "lock").c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(flock(held, LOCK_EX), 0);
  const Ledger impatient{folder_, clock_, std::chrono::milliseconds{30}};

  const Error error = error_of([&] { std::ignore = impatient.append({{"event", "run.start"}}); });

  EXPECT_EQ(error.id(), "ledger.unwritable");
  EXPECT_NE(std::string{error.what()}.find("others have held it for 30 ms"), std::string::npos);
  close(held);
  EXPECT_EQ(append().seq, 2);
}

TEST_F(LedgerTest, HoldsNoDescriptorAfterAnAppend) {
  const auto open_descriptors = [] {
    return std::distance(fs::directory_iterator{"/proc/self/fd"}, fs::directory_iterator{});
  };
  std::ignore = append();
  const auto before = open_descriptors();
  append_many(3);

  EXPECT_EQ(open_descriptors(), before);
}

TEST_F(LedgerTest, WritesBytesThatAreNotUtf8AsReplacementCharacters) {
  std::ignore = append("\xff\xfe");

  EXPECT_TRUE(parse_json(lines().at(0)).has_value());
  EXPECT_TRUE(ledger().verify().is_intact());
}

TEST_F(LedgerTest, IsEmptyBeforeTheFirstRecord) {
  EXPECT_FALSE(ledger().head().has_value());
  const Verification result = ledger().verify();
  EXPECT_TRUE(result.is_intact());
  EXPECT_EQ(result.records, 0U);
}

TEST_F(LedgerTest, ReadsRecordsInOrderAndPassesOverTornLines) {
  append_many(2);
  write(segment(), read(segment()) + "{\"v\":1");
  set_time("2026-08-02T00:00:00.000Z");
  std::ignore = append();

  std::vector<long long> sequence;
  ledger().read_all([&](const Json& record) { sequence.push_back(integer_or(record, "seq", 0)); });

  EXPECT_EQ(sequence, (std::vector<long long>{1, 2, 3, 4}));
}

TEST_F(LedgerTest, IsFoundBelowTheAuditRoot) {
  std::ignore = append();

  const auto found = find_ledgers(root_, clock_);

  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].folder(), ledger_folder(root_, "host", 1000));
}

}  // namespace
}  // namespace sparkrun::audit
