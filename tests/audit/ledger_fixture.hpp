// SPDX-License-Identifier: MIT
#pragma once

#include "audit/ledger.hpp"
#include "base/json_value.hpp"
#include "base/text.hpp"
#include "support/fake_clock.hpp"
#include "support/temp_dir.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace sparkrun::audit {

// A ledger in a folder of its own that goes away with the test, and its files as text.
class LedgerTest : public testing::Test {
 protected:
  [[nodiscard]] Ledger ledger() const { return {folder_, clock_}; }
  [[nodiscard]] Head append(const std::string& text = "x") const {
    return ledger().append({{"event", "run.start"}, {"run", "R"}, {"note", text}});
  }
  void append_many(int count) const {
    for (int i = 0; i < count; ++i) std::ignore = append(std::to_string(i));
  }

  [[nodiscard]] fs::path segment() const { return folder_ / "2026-07.jsonl"; }
  [[nodiscard]] static std::string read(const fs::path& path) {
    std::ifstream file{path, std::ios::binary};
    return {std::istreambuf_iterator<char>{file}, {}};
  }
  static void write(const fs::path& path, std::string_view content) {
    std::ofstream{path, std::ios::binary} << content;
  }
  [[nodiscard]] std::vector<std::string> lines() const {
    std::string text = read(segment());
    if (text.ends_with('\n')) text.pop_back();
    std::vector<std::string> result;
    for (const std::string_view line : split(text, '\n')) result.emplace_back(line);
    return result;
  }
  void write_lines(const std::vector<std::string>& all) const {
    write(segment(), all.empty() ? "" : join(all, "\n") + "\n");
  }
  // `3: moved: ..`, for each fault.
  [[nodiscard]] std::vector<std::string> faults() const {
    std::vector<std::string> result;
    for (const Fault& fault : ledger().verify().faults) {
      result.push_back(std::to_string(fault.place.line) + ": " + fault.what);
    }
    return result;
  }

  void set_time(std::string_view time) {
    clock_.advance(parse_rfc3339(time).value() - clock_.now());
  }

  test::TempDir temporary_;
  fs::path root_ = temporary_.path();
  fs::path folder_ = root_ / "host" / "1000";
  test::FakeClock clock_;
};

}  // namespace sparkrun::audit
