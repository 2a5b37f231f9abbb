// SPDX-License-Identifier: MIT
#include "audit/chain.hpp"

#include "audit/ledger_fixture.hpp"
#include "base/digest.hpp"

namespace sparkrun::audit {
namespace {

using Faults = std::vector<std::string>;

class ChainTest : public LedgerTest {
 protected:
  ChainTest() {
    append_many(6);
    original_ = lines();
  }
  std::vector<std::string> original_;
};

TEST_F(ChainTest, NamesAnEditedLine) {
  auto all = original_;
  all[2].replace(all[2].find(R"("note":"2")"), 10, R"("note":"9")");
  write_lines(all);

  EXPECT_EQ(faults(),
            (Faults{"3: edited, or 2026-07.jsonl:4 was: that line was chained to other bytes"}));
}

TEST_F(ChainTest, NamesALineWhoseNumberWasEdited) {
  auto all = original_;
  all[2].replace(all[2].find(R"("seq":3)"), 7, R"("seq":9)");
  write_lines(all);

  EXPECT_EQ(faults(), (Faults{"3: edited: it says seq 9 where 3 is due"}));
}

TEST_F(ChainTest, NamesALineThatIsNoRecordAnyMore) {
  auto all = original_;
  all[2] = "nothing";
  write_lines(all);

  EXPECT_EQ(faults(), (Faults{"3: edited or inserted: it is not a record"}));
}

TEST_F(ChainTest, NamesTheRecordsThatWereRemoved) {
  auto all = original_;
  all.erase(all.begin() + 2, all.begin() + 4);
  write_lines(all);

  EXPECT_EQ(faults(), (Faults{"3: removed: records 3 to 4 are missing before this line"}));
}

TEST_F(ChainTest, NamesAFirstLineThatWasRemoved) {
  auto all = original_;
  all.erase(all.begin());
  write_lines(all);

  EXPECT_EQ(faults(), (Faults{"1: removed: record 1 is missing before this line"}));
}

TEST_F(ChainTest, NamesACopyThatWasInserted) {
  auto all = original_;
  all.insert(all.begin() + 4, all[1]);
  write_lines(all);

  EXPECT_EQ(faults(), (Faults{"5: inserted: there is a record 2 already"}));
}

TEST_F(ChainTest, NamesAForgedRecordWithARightChain) {
  auto all = original_;
  std::string forged = all[3];
  forged.replace(forged.find(R"("note":"3")"), 10, R"("note":"7")");
  all.insert(all.begin() + 4, forged);
  write_lines(all);

  EXPECT_EQ(faults(),
            (Faults{"5: inserted, or 2026-07.jsonl:4 was: both say that they are record 4"}));
}

TEST_F(ChainTest, NamesALineOfTextThatWasInserted) {
  auto all = original_;
  all.insert(all.begin() + 4, "text");
  write_lines(all);

  EXPECT_EQ(faults(), (Faults{"5: edited or inserted: it is not a record"}));
}

TEST_F(ChainTest, NamesALineThatWasMoved) {
  auto all = original_;
  std::swap(all[2], all[3]);
  write_lines(all);

  EXPECT_EQ(faults(), (Faults{"4: moved: record 3 stands behind record 4"}));
}

TEST_F(ChainTest, NamesEveryFaultOfSeveral) {
  auto all = original_;
  all[0].replace(all[0].find(R"("note":"0")"), 10, R"("note":"9")");
  all.erase(all.begin() + 3);
  write_lines(all);

  EXPECT_EQ(faults(),
            (Faults{"1: edited, or 2026-07.jsonl:2 was: that line was chained to other bytes",
                    "4: removed: record 4 is missing before this line"}));
}

TEST_F(ChainTest, NamesASegmentThatWasRemoved) {
  set_time("2026-08-01T00:00:00.000Z");
  std::ignore = append();
  fs::remove(segment());

  const Verification result = ledger().verify();

  ASSERT_EQ(result.faults.size(), 1U);
  EXPECT_EQ(result.faults[0].place.file, "2026-08.jsonl");
  EXPECT_EQ(result.faults[0].what, "removed: records 1 to 6 are missing before this line");
}

TEST_F(ChainTest, NamesANewlineThatWasRemovedFromAnOlderSegment) {
  set_time("2026-08-01T00:00:00.000Z");
  std::ignore = append();
  std::string text = read(segment());
  text.pop_back();
  write(segment(), text);

  EXPECT_EQ(faults(), (Faults{"6: its newline was removed"}));
}

TEST_F(ChainTest, DoesNotTakeAFragmentForExplainedWhenTheRecordBeforeItWasEdited) {
  write(segment(), read(segment()) + "{\"v\":1");
  std::ignore = append();
  auto all = lines();
  all[5].replace(all[5].find(R"("note":"5")"), 10, R"("note":"9")");
  write_lines(all);

  EXPECT_FALSE(ledger().verify().is_intact());
}

TEST_F(ChainTest, NamesAnEditedFragment) {
  write(segment(), read(segment()) + "{\"v\":1");
  std::ignore = append();
  auto all = lines();
  all[6] = "{\"v\":2";
  write_lines(all);

  EXPECT_FALSE(ledger().verify().is_intact());
}

TEST_F(ChainTest, GoesOnBehindABrokenLine) {
  auto all = original_;
  all.back() = "garbage";
  write_lines(all);

  EXPECT_EQ(append().seq, 6);
  EXPECT_EQ(faults(), (Faults{"6: edited or inserted: it is not a record"}));
}

TEST_F(ChainTest, TellsByAnAnchorThatTheEndWasCutOff) {
  const Head noted = ledger().head().value();
  auto all = original_;
  all.pop_back();
  write_lines(all);

  EXPECT_TRUE(ledger().verify().is_intact());
  const Verification result = ledger().verify(noted);
  ASSERT_EQ(result.faults.size(), 1U);
  EXPECT_EQ(result.faults[0].what, "removed: record 6, which was noted as " + noted.to_string() +
                                       ", is not in the ledger");
}

TEST_F(ChainTest, TellsByAnAnchorThatTheLastLineWasEdited) {
  const Head noted = Head::parse(ledger().head().value().to_string()).value();
  auto all = original_;
  all[5].replace(all[5].find(R"("note":"5")"), 10, R"("note":"9")");
  write_lines(all);

  EXPECT_FALSE(ledger().verify(noted).is_intact());
  write_lines(original_);
  EXPECT_TRUE(ledger().verify(noted).is_intact());
}

TEST_F(ChainTest, BoundsTheNumberOfFaults) {
  write(segment(), std::string(5000, '\n'));

  EXPECT_EQ(ledger().verify().faults.size(), faults_max);
}

TEST(Head, ReadsWhatItWrites) {
  const Head head{412, std::string(64, 'a')};

  EXPECT_EQ(head.to_string(), "412:aaaaaaaaaaaa");
  EXPECT_EQ(Head::parse(head.to_string()).value().to_string(), head.to_string());
  for (const char* const wrong : {"", "412", "412:abc", "x:aaaaaaaaaaaa", "0:aaaaaaaaaaaa",
                                  "412:AAAAAAAAAAAA", "-1:aaaaaaaaaaaa"}) {
    EXPECT_FALSE(Head::parse(wrong).has_value()) << wrong;
  }
}

TEST(RecordHeader, TakesWholeRecordsOnly) {
  const std::string prev = R"("prev":")" + std::string(64, '0') + "\"";
  const std::string whole =
      R"({"v":1,"seq":1,"event":"run.end",)" + prev + R"(,"image":{"seq":7}})";
  ASSERT_TRUE(parse_header(whole).has_value());
  EXPECT_EQ(parse_header(whole)->seq, 1);

  for (size_t length = 0; length < whole.size(); ++length) {
    EXPECT_FALSE(parse_header(whole.substr(0, length)).has_value()) << length;
  }
  EXPECT_FALSE(parse_header(R"([{"seq":1,"event":"x",)" + prev + "}]").has_value());
  EXPECT_FALSE(parse_header(R"({"seq":1,"seq":2,"event":"x",)" + prev + "}").has_value());
  EXPECT_FALSE(parse_header(R"({"seq":-1,"event":"x",)" + prev + "}").has_value());
  EXPECT_FALSE(parse_header(R"({"seq":1,"event":"x","prev":"00"})").has_value());
  EXPECT_FALSE(parse_header(std::string(100'000, '[')).has_value());
}

}  // namespace
}  // namespace sparkrun::audit
