// SPDX-License-Identifier: MIT
#include "audit/chain.hpp"

#include "base/digest.hpp"
#include "base/json_value.hpp"
#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sparkrun::audit {
namespace {

// Reads a record without building it: a ledger of 100,000 records is verified in a second.
class HeaderReader final : public nlohmann::json_sax<Json> {
 public:
  RecordHeader header;
  [[nodiscard]] bool is_record() const {
    return is_object_ && seq_count_ == 1 && event_count_ == 1 && prev_count_ == 1 &&
           header.seq > 0 && is_lower_hex(header.prev, 64);
  }

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool number_integer(number_integer_t) override { return true; }  // negative: not one of ours
  bool number_unsigned(number_unsigned_t value) override {
    const auto number = static_cast<long long>(value);
    if (depth_ == 1 && key_ == "seq") header.seq = number, ++seq_count_;
    if (depth_ == 1 && key_ == "torn_bytes") header.torn_bytes = number;
    return true;
  }
  bool string(string_t& value) override {
    if (depth_ != 1) return true;
    if (key_ == "event") header.event = value, ++event_count_;
    if (key_ == "prev") header.prev = value, ++prev_count_;
    if (key_ == "after") header.after = value;
    return true;
  }
  bool key(string_t& value) override {
    if (depth_ == 1) key_ = value;
    return true;
  }
  bool start_object(size_t) override {
    if (depth_ == 0) is_object_ = true;
    ++depth_;
    return true;
  }
  bool end_object() override { return --depth_, true; }
  bool start_array(size_t) override { return ++depth_, true; }
  bool end_array() override { return --depth_, true; }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }

 private:
  int depth_ = 0;
  bool is_object_ = false;
  std::string key_;
  int seq_count_ = 0, event_count_ = 0, prev_count_ = 0;
};

bool contains(const std::vector<std::string>& hashes, const std::string& hash) {
  return std::ranges::find(hashes, hash) != hashes.end();
}

std::string describe(const Place& place) { return fmt::format("{}:{}", place.file, place.line); }

std::string describe_range(long long first, long long last) {
  return first == last ? fmt::format("record {} is", first)
                       : fmt::format("records {} to {} are", first, last);
}

}  // namespace

std::string chain_start() { return std::string(64, '0'); }

std::string Head::to_string() const { return fmt::format("{}:{}", seq, hash.substr(0, 12)); }

std::optional<Head> Head::parse(std::string_view text) {
  const auto [number, hash] = split_once(text, ':');
  const auto seq = parse_number(number);
  if (!seq || *seq < 1 || hash.size() < 12 || hash.size() > 64) return std::nullopt;
  if (!is_lower_hex(hash, hash.size())) return std::nullopt;
  return Head{*seq, std::string{hash}};
}

std::optional<RecordHeader> parse_header(std::string_view line) {
  HeaderReader reader;
  if (line.empty() || line.front() != '{' || !Json::sax_parse(line, &reader)) return std::nullopt;
  if (!reader.is_record()) return std::nullopt;
  return reader.header;
}

void ChainChecker::see(const Place& place, std::string_view line, bool is_complete) {
  if (incomplete_) fault(*incomplete_, "its newline was removed");
  incomplete_ = is_complete ? std::nullopt : std::optional{place};
  std::string hash = sha256_hex(line);
  const auto header = parse_header(line);
  if (!header) {
    fragments_.push_back({place, line.size(), std::move(hash)});
    return;
  }
  ++result_.records;
  check_anchor(place, header->seq, hash);
  judge(place, *header, hash);
}

// How many lines stand where records should be: torn writes that this record explains do not count.
long long ChainChecker::settle_fragments(const RecordHeader& header) {
  if (fragments_.empty()) return 0;
  long long bytes = 0;
  for (const Fragment& fragment : fragments_) bytes += static_cast<long long>(fragment.bytes);
  if (header.event == "tail.torn" && header.torn_bytes == bytes &&
      contains(accepted_, header.after)) {
    return 0;
  }
  for (const Fragment& fragment : fragments_) {
    fault(fragment.place, "edited or inserted: it is not a record");
  }
  return static_cast<long long>(fragments_.size());
}

void ChainChecker::judge(const Place& place, const RecordHeader& header, const std::string& hash) {
  const long long lost = settle_fragments(header);
  const bool follows = contains(accepted_, header.prev) ||
                       (!fragments_.empty() && fragments_.back().hash == header.prev);
  fragments_.clear();
  const bool is_due = header.seq == seq_ + 1 || (lost > 0 && header.seq == seq_ + 1 + lost);

  if (is_due) {
    if (!follows && lost == 0) {
      fault(
          place_.line != 0 ? place_ : place,
          fmt::format("edited, or {} was: that line was chained to other bytes", describe(place)));
    }
    return advance(place, header.seq, hash);
  }
  if (follows) {
    fault(place, fmt::format("edited: it says seq {} where {} is due", header.seq, seq_ + 1));
    return advance(place, seq_ + 1, hash);
  }
  if (header.seq > seq_ + 1) {
    add_gap(seq_ + 1 + lost, header.seq - 1, place);
    return advance(place, header.seq, hash);
  }
  // A line out of its place does not become what the next line is measured by.
  if (header.seq == seq_ && contains(accepted_before_, header.prev)) {
    fault(place, fmt::format("inserted, or {} was: both say that they are record {}",
                             describe(place_), header.seq));
    accepted_.push_back(hash);
  } else if (take_from_gap(header.seq)) {
    fault(place, fmt::format("moved: record {} stands behind record {}", header.seq, seq_));
  } else {
    fault(place, fmt::format("inserted: there is a record {} already", header.seq));
  }
}

void ChainChecker::advance(const Place& place, long long seq, const std::string& hash) {
  seq_ = seq;
  place_ = place;
  accepted_before_ = std::exchange(accepted_, {hash});
}

void ChainChecker::check_anchor(const Place& place, long long seq, const std::string& hash) {
  if (!anchor_ || anchor_->seq != seq) return;
  has_met_anchor_ = true;
  if (!hash.starts_with(anchor_->hash)) {
    fault(place, fmt::format("edited: record {} is not the one that was noted as {}", seq,
                             anchor_->to_string()));
  }
}

void ChainChecker::add_gap(long long first, long long last, const Place& before) {
  if (first <= last) gaps_.emplace(first, Gap{last, before});
}

bool ChainChecker::take_from_gap(long long seq) {
  auto found = gaps_.upper_bound(seq);
  if (found == gaps_.begin()) return false;
  --found;
  const auto [first, gap] = *found;
  if (seq > gap.last) return false;
  gaps_.erase(found);
  add_gap(first, seq - 1, gap.before);
  add_gap(seq + 1, gap.last, gap.before);
  return true;
}

void ChainChecker::fault(const Place& place, std::string what) {
  const auto is_here = [&](const Fault& known) { return known.place == place; };
  if (result_.faults.size() >= faults_max || std::ranges::any_of(result_.faults, is_here)) return;
  result_.faults.push_back({place, std::move(what)});
}

Verification ChainChecker::finish() {
  result_.has_torn_tail = incomplete_.has_value();
  for (const Fragment& fragment : fragments_) {
    if (fragment.place == incomplete_) break;
    // A newline and an unfinished `tail.torn` behind it: the fragment is the older half of one
    // crash.
    if (!result_.has_torn_tail) fault(fragment.place, "edited or inserted: it is not a record");
  }
  for (const auto& [first, gap] : gaps_) {
    fault(gap.before,
          fmt::format("removed: {} missing before this line", describe_range(first, gap.last)));
  }
  if (anchor_ && !has_met_anchor_) {
    fault(place_, fmt::format("removed: record {}, which was noted as {}, is not in the ledger",
                              anchor_->seq, anchor_->to_string()));
  }
  if (seq_ > 0) result_.head = Head{seq_, accepted_.front()};
  std::ranges::stable_sort(result_.faults, {}, &Fault::place);
  return std::move(result_);
}

}  // namespace sparkrun::audit
