// SPDX-License-Identifier: MIT
#include "base/error.hpp"

#include "sys/files.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <regex>
#include <set>

namespace sparkrun {
namespace {

TEST(ErrorTable, IsSortedWithoutDuplicates) {
  const auto kinds = error_kinds();

  const auto not_ascending = std::ranges::adjacent_find(
      kinds, [](const ErrorKind& a, const ErrorKind& b) { return a.id >= b.id; });

  EXPECT_TRUE(not_ascending == kinds.end()) << not_ascending->id;
}

TEST(ErrorTable, ExplainsEveryIdInSentences) {
  for (const ErrorKind& kind : error_kinds()) {
    EXPECT_FALSE(kind.explanation.empty()) << kind.id;
    EXPECT_TRUE(kind.explanation.ends_with('.')) << kind.id;
  }
}

TEST(ErrorTable, HasAHintForAllButAnInterrupt) {
  for (const ErrorKind& kind : error_kinds()) {
    EXPECT_EQ(kind.hint.empty(), kind.id == "interrupted") << kind.id;
    EXPECT_FALSE(kind.hint.ends_with('.')) << kind.id;
  }
}

TEST(ErrorTable, NamesIdsAsFolderAndFault) {
  for (const ErrorKind& kind : error_kinds()) {
    EXPECT_EQ(kind.id.find_first_not_of("abcdefghijklmnopqrstuvwxyz_."), std::string_view::npos)
        << kind.id;
    EXPECT_LE(std::ranges::count(kind.id, '.'), 1) << kind.id;
  }
}

TEST(ErrorTable, UsesOnlyExitCodesThatHaveAMeaning) {
  std::set<ExitCode> meanings;
  for (const ExitCodeMeaning& row : exit_code_meanings()) {
    EXPECT_FALSE(row.meaning.empty());
    EXPECT_TRUE(meanings.insert(row.code).second)
        << static_cast<int>(row.code) << " is there twice";
  }

  for (const ErrorKind& kind : error_kinds()) {
    EXPECT_TRUE(meanings.contains(kind.exit_code)) << kind.id;
    EXPECT_NE(kind.exit_code, ExitCode::ok) << kind.id;
  }
}

TEST(ErrorTable, FindsEveryIdAndNothingElse) {
  for (const ErrorKind& kind : error_kinds()) EXPECT_EQ(find_error_kind(kind.id), &kind);

  EXPECT_EQ(find_error_kind(""), nullptr);
  EXPECT_EQ(find_error_kind("lock"), nullptr);
  EXPECT_EQ(find_error_kind("zzz"), nullptr);
}

TEST(ErrorTable, KeepsTheDocumentedExitCodes) {
  const std::pair<std::string_view, int> rows[] = {
      {"usage.bad_value", 2},
      {"lock.stale", 3},
      {"lock.missing", 4},
      {"registry.timeout", 5},
      {"registry.offline", 5},
      {"registry.not_found", 6},
      {"registry.platform_missing", 8},
      {"ledger.broken", 9},
      {"engine.missing", 10},
      {"preflight.blocked", 11},
      {"engine.other_content", 12},
      {"bug", 70},
      {"interrupted", 130},
  };
  for (const auto& [id, code] : rows) {
    EXPECT_EQ(static_cast<int>(find_error_kind(id)->exit_code), code) << id;
  }
}

// A misspelt id would be reported as a bug, and only when it is thrown.
TEST(ErrorTable, HasEveryIdThatTheSourcesThrow) {
  const std::regex thrown{R"re(\b(?:Error\{|fail\()\s*"([a-z_.]+)")re"};
  int found = 0;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator{SPARKRUN_SOURCE_DIR "/src"}) {
    if (entry.path().extension() != ".cpp") continue;
    const std::string text = sys::read_file(entry.path()).value();
    for (std::sregex_iterator match{text.begin(), text.end(), thrown}, end; match != end;
         ++match, ++found) {
      EXPECT_NE(find_error_kind((*match)[1].str()), nullptr)
          << entry.path() << " throws " << (*match)[1];
    }
  }
  EXPECT_GT(found, 50);
}

TEST(Error, FillsItsHintFromTheDetails) {
  const Error error{"lock.missing", "profile `vllm` has no lock", {{"profile", "vllm"}}};

  EXPECT_EQ(error.hint(), "run `sparkrun lock vllm` and commit the file that it writes");
}

TEST(Error, WritesAPlaceholderWithoutDetailInCapitals) {
  const Error error{"lock.missing", "no lock"};

  EXPECT_EQ(error.hint(), "run `sparkrun lock PROFILE` and commit the file that it writes");
}

TEST(Error, LeavesNoDoubleBlankForAnEmptyDetail) {
  const Error error{"usage.missing_argument", "`sparkrun` needs a command", {{"command", ""}}};

  EXPECT_EQ(error.hint(), "see `sparkrun --help`");
}

TEST(Error, DoesNotFillWhatADetailBroughtIn) {
  const Error error{"lock.missing", "no lock", {{"profile", "{profile}"}}};

  EXPECT_EQ(error.hint(), "run `sparkrun lock {profile}` and commit the file that it writes");
}

TEST(Error, OfAnUnknownIdIsABug) {
  const Error error{"no.such_id", "something"};

  EXPECT_EQ(error.id(), "bug");
  EXPECT_EQ(error.exit_code(), ExitCode::bug);
  EXPECT_EQ(error.details().at("unknown_id"), "no.such_id");
}

TEST(Error, CarriesEveryProblem) {
  const Error error{
      "profile.invalid", "p.toml is not valid", {}, {"p.toml:1:1: a", "p.toml:2:1: b"}};

  EXPECT_STREQ(error.what(), "p.toml is not valid");
  EXPECT_EQ(error.problems(), (std::vector<std::string>{"p.toml:1:1: a", "p.toml:2:1: b"}));
}

TEST(WhileDoing, AddsContextInnermostFirst) {
  const auto inner = []() -> int { throw Error{"registry.timeout", "no answer"}; };
  try {
    while_doing("running `vllm`", [&] { return while_doing("locking `vllm`", inner); });
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.context(), (std::vector<std::string>{"locking `vllm`", "running `vllm`"}));
  }
}

TEST(WhileDoing, ReturnsWhatTheActionReturns) {
  EXPECT_EQ(while_doing("counting", [] { return 42; }), 42);
}

TEST(Worse, FollowsTheDocumentedOrder) {
  // DESIGN section 2: for several references the worst counts, in this order.
  const ExitCode order[] = {
      ExitCode::bug,           ExitCode::usage,     ExitCode::invalid, ExitCode::stale,
      ExitCode::other_content, ExitCode::signature, ExitCode::gone,    ExitCode::no_platform,
      ExitCode::undetermined,  ExitCode::no,        ExitCode::ok};
  for (size_t i = 0; i < std::size(order); ++i) {
    for (size_t j = i; j < std::size(order); ++j) {
      EXPECT_EQ(worse(order[i], order[j]), order[i]);
      EXPECT_EQ(worse(order[j], order[i]), order[i]);
    }
  }
}

TEST(Worse, RanksEveryExitCode) {
  for (const ExitCodeMeaning& row : exit_code_meanings()) {
    EXPECT_EQ(worse(row.code, ExitCode::ok), row.code);
    EXPECT_EQ(worse(ExitCode::ok, row.code), row.code);
  }
}

TEST(Error, QuotesNoMegabyte) {
  const std::string long_text(1'000'000, 'x');
  const Error error{"reference.malformed", long_text, {{"reference", long_text}}};

  EXPECT_LT(std::string_view{error.what()}.size(), 5'000U);
  EXPECT_LT(error.details().at("reference").size(), 5'000U);
}

}  // namespace
}  // namespace sparkrun
