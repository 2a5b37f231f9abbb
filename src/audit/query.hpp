// SPDX-License-Identifier: MIT
#pragma once

#include "audit/ledger.hpp"
#include "base/json.hpp"
#include "base/time.hpp"

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sparkrun::audit {

// `unknown`: started, and no end is recorded: it crashed, or it runs and only the engine can tell.
enum class RunState { running, ended, refused, unknown };
std::string_view to_string(RunState state);

// All events of one run, folded. Texts that no record holds are empty.
struct Run {
  std::string id;
  RunState state = RunState::unknown;
  std::optional<TimePoint> time;  // of its first record
  std::string profile;
  std::string reference;  // the image as it was named
  std::string index;
  std::string manifest;
  std::string config;
  std::string chain;
  std::string platform;
  std::string pin;
  std::string lock_path;
  std::string commit;
  std::string host;  // name
  std::string boot;  // boot id of the host
  std::string user;
  std::string container;  // id
  std::vector<std::string> argv;
  std::string verdict;  // of the preflight
  std::optional<int> exit;
  std::optional<int> signal;
  bool is_oom_killed = false;
  std::optional<std::chrono::milliseconds> duration;
  std::string error;    // of a refused run: id in the error table
  std::string message;  // of the same
};

// Which of the run's digests starts with `hex` (at least 12 digits, `sha256:` may stand before
// them): `index`, `manifest`, `config`, `chain`, or nothing.
std::optional<std::string_view> matching_digest(const Run& run, std::string_view hex);

// All runs, newest first. A run without an end counts as running when it started on this boot of
// this host (`boot_id`; empty: none does). Throws `file.unreadable`.
std::vector<Run> list(std::span<const Ledger> ledgers, std::string_view boot_id = {});

// `runs` as list() gives them. `text`: a run's id, the start of it (4 characters or more), or `^1`,
// the newest, `^2`, the one before. Throws `ledger.unknown_run`, with the candidates when there are
// several.
const Run& find_run(const std::vector<Run>& runs, std::string_view text);

// All records of one run, in order: what `audit show` prints. Throws `file.unreadable`.
std::vector<Json> events_of(std::span<const Ledger> ledgers, std::string_view run_id);

// One object of `audit ls --json`; members that are not known are left out.
Json to_json(const Run& run);

}  // namespace sparkrun::audit
