// SPDX-License-Identifier: MIT
#pragma once

#include "audit/ledger.hpp"
#include "audit/record.hpp"
#include "config/settings.hpp"
#include "preflight/verdict.hpp"
#include "run/prepare.hpp"
#include "sys/system.hpp"

#include <string>
#include <vector>

namespace sparkrun::run {

// The folder that holds the ledgers: `audit_dir`, else the state folder's.
fs::path audit_root(const config::Settings& settings, const sys::Environment& environment);

// This user's ledger on this host.
fs::path ledger_folder(const config::Settings& settings, const sys::Environment& environment,
                       const std::string& host_id);

// Appends records as the setting `audit` asks: `required`, `best-effort` or `off`.
class Recorder {
 public:
  Recorder(const config::Settings& settings, const sys::System& system, const std::string& host_id);

  // Before the job exists: `required` throws `ledger.unwritable`, `best-effort` notes a warning.
  void append(const Json& record);
  // Once the job runs nothing may be lost with it: a failure is only a warning.
  void append_or_warn(const Json& record);

  // What could not be written, for people.
  [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }
  // `412:9f86d081884c`, of the last record written here; empty when there is none.
  [[nodiscard]] const std::string& head() const { return head_; }

 private:
  std::string mode_;
  audit::Ledger ledger_;
  std::vector<std::string> warnings_;
  std::string head_;
};

// What the records of a run say of its circumstances. Both arguments outlive the result. `report`
// may be null: not checked. Asks git about the project.
audit::RunContext record_context(const Prepared& prepared, std::vector<std::string> argv,
                                 const preflight::Report* report, sys::System& system);

}  // namespace sparkrun::run
