// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sparkrun::audit {

// Where the chain stands: the number of its newest record and the SHA-256 (hex) of that line.
// Written down elsewhere (a CI log), it proves later that nothing up to it was changed or cut off.
struct Head {
  long long seq = 0;
  std::string hash;

  // `412:9f86d081884c`
  [[nodiscard]] std::string to_string() const;
  // Nothing when it is not SEQ:HASH with at least 12 hex digits.
  static std::optional<Head> parse(std::string_view text);
};

// What the first record ever carries as the hash of the line before it.
std::string chain_start();

// The members of a record that hold the chain together.
struct RecordHeader {
  long long seq = 0;
  std::string event;
  std::string prev;
  std::string after;         // of `tail.torn`: hash of the last whole record
  long long torn_bytes = 0;  // of `tail.torn`: length of what stands between that and this
};

// Nothing when the line is not a whole record: not a JSON object, or without seq, event and prev.
std::optional<RecordHeader> parse_header(std::string_view line);

struct Place {
  std::string file;
  size_t line = 0;  // 1-based

  auto operator<=>(const Place&) const = default;
};

struct Fault {
  Place place;
  std::string what;
};

struct Verification {
  size_t records = 0;
  size_t segments = 0;
  std::optional<Head> head;
  // The last line has no newline: a crash while it was written (the next append says so in the
  // ledger), or it is being written right now.
  bool has_torn_tail = false;
  std::vector<Fault> faults;  // in the order of the lines; the first `faults_max` of them

  [[nodiscard]] bool is_intact() const { return faults.empty(); }
};
constexpr size_t faults_max = 1000;

// Judges lines in the order of the ledger, without I/O. A line that was edited shows in the line
// after it, so what stands in the last line, and whether lines were cut off behind it, only an
// anchor can tell.
class ChainChecker {
 public:
  explicit ChainChecker(std::optional<Head> anchor = {}) : anchor_(std::move(anchor)) {}

  // `is_complete`: the line ends with a newline.
  void see(const Place& place, std::string_view line, bool is_complete);
  // Without the number of segments, which only the caller knows.
  Verification finish();

 private:
  // A line that is not a record; a torn write, if the next record says so.
  struct Fragment {
    Place place;
    size_t bytes;
    std::string hash;
  };

  void fault(const Place& place, std::string what);
  long long settle_fragments(const RecordHeader& header);
  void judge(const Place& place, const RecordHeader& header, const std::string& hash);
  void advance(const Place& place, long long seq, const std::string& hash);
  void check_anchor(const Place& place, long long seq, const std::string& hash);
  void add_gap(long long first, long long last, const Place& before);
  bool take_from_gap(long long seq);

  struct Gap {
    long long last;
    Place before;
  };

  std::optional<Head> anchor_;
  bool has_met_anchor_ = false;
  Verification result_;
  long long seq_ = 0;                                 // of the last record that was in its place
  Place place_;                                       // of the same
  std::vector<std::string> accepted_{chain_start()};  // hashes of the lines that claim to be it
  std::vector<std::string> accepted_before_;          // the same, one record earlier
  std::vector<Fragment> fragments_;                   // since the last record
  std::map<long long, Gap> gaps_;                     // first missing seq -> rest
  std::optional<Place> incomplete_;
};

}  // namespace sparkrun::audit
