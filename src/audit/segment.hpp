// SPDX-License-Identifier: MIT
#pragma once

#include "audit/chain.hpp"
#include "base/time.hpp"
#include "sys/files.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace sparkrun::audit {

namespace fs = std::filesystem;

constexpr size_t record_bytes_max = size_t{16} << 20;

// `2026-07.jsonl`: the month in UTC.
std::string segment_name(TimePoint time);

// The segments of a folder, oldest first; other files are not looked at. Empty when there is no
// folder.
std::vector<std::string> list_segments(const fs::path& folder);

// The end of a ledger: what the next record continues.
struct Tail {
  Head record{.seq = 0, .hash = chain_start()};  // the last whole record
  std::string line_hash = chain_start();         // of the last line, a record or not
  long long torn_bytes = 0;                      // of the lines behind the last whole record
  std::string newest;                            // segment that holds the last line; empty: none
  bool has_newline = true;
};

// Reads as little as it can from the end. Throws `file.unreadable`, and `ledger.broken` when the
// last `tail_bytes_max` bytes hold no record.
Tail read_tail(const fs::path& folder);
constexpr size_t tail_bytes_max = 4 * record_bytes_max;

// Calls `visit` with each line, without its newline; `is_complete` is false for a last line that
// has none. Throws `file.unreadable`, and `ledger.broken` for a line of more than `tail_bytes_max`
// bytes.
using LineVisitor = std::function<void(const Place&, std::string_view line, bool is_complete)>;
void read_lines(const fs::path& folder, const std::string& segment, const LineVisitor& visit);

// Appends `bytes` with one write, syncs them, and the folder when the segment is new. What could
// not be written whole is taken back. Throws `ledger.unwritable`.
void append_to_segment(const fs::path& folder, const std::string& segment, std::string_view bytes);

}  // namespace sparkrun::audit
