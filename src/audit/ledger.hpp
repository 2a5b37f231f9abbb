// SPDX-License-Identifier: MIT
#pragma once

#include "audit/chain.hpp"
#include "base/json.hpp"
#include "sys/clock.hpp"
#include "sys/environment.hpp"

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace sparkrun::audit {

namespace fs = std::filesystem;

// The append-only, hash-chained ledger of one user on one host: a folder with one JSON Lines file
// per month (UTC). Each record carries the SHA-256 of the line before it, across months:
// tamper-evident, not tamper-proof.
class Ledger {
 public:
  // Nothing is read or made until it is needed. `clock` must outlive the ledger.
  Ledger(fs::path folder, const sys::Clock& clock,
         std::chrono::milliseconds lock_timeout = std::chrono::seconds{10})
      : folder_(std::move(folder)), clock_(&clock), lock_timeout_(lock_timeout) {}

  // Completes `record` (`event`, perhaps `run`, and the rest) with v, seq, time and prev, and makes
  // it durable as one line. Returns the new head. Any number of processes may append at once; the
  // lock is held for this call only. Throws `ledger.unwritable`, also when the lock cannot be had
  // in time.
  Head append(const Json& record) const;

  // Every whole record, oldest first, one at a time. Torn lines are passed over; whether the chain
  // holds is for verify() to say. Throws `file.unreadable`.
  void read_all(const std::function<void(const Json& record)>& visit) const;

  // Reads everything and names each line that does not fit. `anchor`: a head that was noted
  // elsewhere (its hash may be cut to 12 digits or more). Throws `file.unreadable`.
  [[nodiscard]] Verification verify(const std::optional<Head>& anchor = {}) const;

  // Nothing while there is no record.
  [[nodiscard]] std::optional<Head> head() const;

  [[nodiscard]] const fs::path& folder() const { return folder_; }

 private:
  fs::path folder_;
  const sys::Clock* clock_;
  std::chrono::milliseconds lock_timeout_;
};

// AUDIT_ROOT/HOSTID/UID: two hosts that share a home folder never write the same file.
fs::path ledger_folder(const fs::path& audit_root, const std::string& host_id, uid_t uid);

// All ledgers below `audit_root`, of every host and user; sorted by path. Throws `file.unreadable`.
std::vector<Ledger> find_ledgers(const fs::path& audit_root, const sys::Clock& clock);

}  // namespace sparkrun::audit
