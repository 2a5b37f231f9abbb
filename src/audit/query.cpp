// SPDX-License-Identifier: MIT
#include "audit/query.hpp"

#include "base/error.hpp"
#include "base/json_value.hpp"
#include "base/text.hpp"
#include "base/ulid.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

namespace sparkrun::audit {
namespace {

constexpr size_t candidates_max = 10;
constexpr size_t digest_digits_min = 12;

void take_start(Run& run, const Json& record) {
  const Json& image = member(record, "image");
  run.reference = string_or(image, "reference");
  run.index = string_or(image, "index");
  run.manifest = string_or(image, "manifest");
  run.config = string_or(image, "config");
  run.chain = string_or(image, "chain");
  run.platform = string_or(image, "platform");
  run.pin = string_or(image, "pin");
  run.profile = string_or(member(record, "profile"), "name");
  run.lock_path = string_or(member(record, "lock"), "path");
  run.commit = string_or(member(record, "git"), "commit");
  run.host = string_or(member(record, "host"), "name");
  run.boot = string_or(member(record, "host"), "boot");
  run.user = string_or(member(record, "who"), "user");
  run.verdict = string_or(member(record, "preflight"), "verdict");
  for (const Json& word : member(record, "argv")) {
    if (word.is_string()) run.argv.push_back(word.get<std::string>());
  }
}

void take_end(Run& run, const Json& record) {
  run.state = RunState::ended;
  run.exit = static_cast<int>(integer_or(record, "exit", 0));
  if (const long long signal = integer_or(record, "signal", 0); signal > 0) {
    run.signal = static_cast<int>(signal);
  }
  run.is_oom_killed = boolean_or(record, "oom", false);
  run.duration = std::chrono::milliseconds{integer_or(record, "duration_ms", 0)};
}

void take(Run& run, const Json& record) {
  const std::string event = string_or(record, "event");
  if (!run.time) run.time = parse_rfc3339(string_or(record, "time"));
  if (event == "run.start" || event == "run.refused") take_start(run, record);
  if (event == "run.bound") run.container = string_or(record, "container");
  if (event == "run.end") take_end(run, record);
  if (event == "run.refused") {
    run.state = RunState::refused;
    run.error = string_or(record, "error");
    run.message = string_or(record, "message");
  }
}

[[noreturn]] void fail(std::string_view text, std::string_view why,
                       std::vector<std::string> candidates = {}) {
  const std::string typed = printable(text);
  throw Error{"ledger.unknown_run",
              fmt::format("`{}` {}", typed, why),
              {{"run", typed}},
              std::move(candidates)};
}

// `^1` is the newest.
const Run& find_by_age(const std::vector<Run>& runs, std::string_view text) {
  const auto age = parse_number(text.substr(1));
  if (!age || *age < 1) fail(text, "names no run: write ^1 for the newest, ^2 for the one before");
  if (static_cast<size_t>(*age) > runs.size()) {
    fail(text, fmt::format("names no run: the ledger has {}", runs.size()));
  }
  return runs[static_cast<size_t>(*age) - 1];
}

}  // namespace

std::string_view to_string(RunState state) {
  constexpr std::array<std::string_view, 4> names = {"running", "ended", "refused", "unknown"};
  return names.at(static_cast<size_t>(state));
}

std::optional<std::string_view> matching_digest(const Run& run, std::string_view hex) {
  if (hex.starts_with("sha256:")) hex.remove_prefix(7);
  if (hex.size() < digest_digits_min) return std::nullopt;
  const std::string wanted = "sha256:" + to_lower(hex);
  if (run.index.starts_with(wanted)) return "index";
  if (run.manifest.starts_with(wanted)) return "manifest";
  if (run.config.starts_with(wanted)) return "config";
  if (run.chain.starts_with(wanted)) return "chain";
  return std::nullopt;
}

std::vector<Run> list(std::span<const Ledger> ledgers, std::string_view boot_id) {
  std::map<std::string, Run> by_id;
  for (const Ledger& ledger : ledgers) {
    ledger.read_all([&](const Json& record) {
      const std::string id = string_or(record, "run");
      if (id.empty()) return;
      Run& run = by_id[id];
      run.id = id;
      take(run, record);
    });
  }
  std::vector<Run> runs;
  for (auto& [id, run] : by_id) {
    const bool is_of_this_boot = !boot_id.empty() && run.boot == boot_id;
    if (run.state == RunState::unknown && is_of_this_boot) run.state = RunState::running;
    runs.push_back(std::move(run));
  }
  // Ids that were made in the same millisecond sort by their random part: any order will do, if it
  // stays.
  std::ranges::sort(runs, [](const Run& a, const Run& b) {
    return std::tie(a.time, a.id) > std::tie(b.time, b.id);
  });
  return runs;
}

const Run& find_run(const std::vector<Run>& runs, std::string_view text) {
  if (text.starts_with('^')) return find_by_age(runs, text);
  if (text.size() < ulid_prefix_length_min) {
    fail(text, fmt::format("is too short: the first {} characters of an id are needed",
                           ulid_prefix_length_min));
  }
  const Run* found = nullptr;
  std::vector<std::string> candidates;
  for (const Run& run : runs) {
    if (!names_ulid(text, run.id)) continue;
    found = &run;
    candidates.push_back(run.id);
  }
  if (candidates.size() > 1) {
    const std::string why = fmt::format("is the start of {} run ids", candidates.size());
    candidates.resize(std::min(candidates.size(), candidates_max));
    fail(text, why, std::move(candidates));
  }
  if (found == nullptr) fail(text, "is no run of this ledger");
  return *found;
}

std::vector<Json> events_of(std::span<const Ledger> ledgers, std::string_view run_id) {
  std::vector<Json> events;
  for (const Ledger& ledger : ledgers) {
    ledger.read_all([&](const Json& record) {
      if (string_or(record, "run") == run_id) events.push_back(record);
    });
  }
  return events;
}

Json to_json(const Run& run) {
  Json json = {{"run", run.id}, {"state", to_string(run.state)}};
  const auto set = [&](const char* key, const std::string& text) {
    if (!text.empty()) json[key] = text;
  };
  if (run.time) json["time"] = to_rfc3339(*run.time);
  set("profile", run.profile);
  json["image"] = Json::object();
  for (const auto& [key, text] : {std::pair{"reference", &run.reference},
                                  {"index", &run.index},
                                  {"manifest", &run.manifest},
                                  {"config", &run.config},
                                  {"chain", &run.chain},
                                  {"platform", &run.platform},
                                  {"pin", &run.pin}}) {
    if (!text->empty()) json["image"][key] = *text;
  }
  set("commit", run.commit);
  set("host", run.host);
  set("user", run.user);
  set("container", run.container);
  json["argv"] = run.argv;
  set("verdict", run.verdict);
  if (run.exit) json["exit"] = *run.exit;
  if (run.signal) json["signal"] = *run.signal;
  if (run.state == RunState::ended) json["oom"] = run.is_oom_killed;
  if (run.duration) json["duration_ms"] = run.duration->count();
  set("error", run.error);
  set("message", run.message);
  return json;
}

}  // namespace sparkrun::audit
