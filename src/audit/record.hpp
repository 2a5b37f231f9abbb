// SPDX-License-Identifier: MIT
#pragma once

#include "base/json.hpp"
#include "engine/engine.hpp"
#include "plan/run_plan.hpp"
#include "sys/host_facts.hpp"

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace sparkrun::audit {

// The words of a command line as they may be recorded: secrets are replaced by `[redacted]`.
std::vector<std::string> scrub(const std::vector<std::string>& argv);

struct PreflightSummary {
  std::string verdict;
  std::map<std::string, std::string> checks;  // id -> `pass`, `warn: ..`
};

struct LockState {
  std::string path;
  std::string sha256;  // hex, of the file's bytes
};

struct GitState {
  std::string commit;
  bool is_dirty = false;
};

// What is known of a run when it starts or is refused; what is null or empty is left out of the
// record.
struct RunContext {
  const plan::RunPlan* plan = nullptr;
  const sys::HostFacts* host = nullptr;
  const engine::EngineFacts* engine = nullptr;
  std::string profile;            // its name, where there is no plan yet
  std::vector<std::string> argv;  // complete; it is scrubbed here
  std::optional<PreflightSummary> preflight;
  std::optional<LockState> lock;
  std::optional<GitState> git;
  uid_t uid = 0;
  std::string tool_version;
};

// What the engine says of the container that it made.
struct BoundContainer {
  std::string container;  // id
  std::string image;      // id of its image
  std::vector<std::string> repo_digests;
  std::string matches;  // which locked digest that is: config, manifest, index
};

struct RunEnd {
  int exit = 0;  // 128 + n where a signal ended it, as engines say it
  bool is_oom_killed = false;
  std::chrono::milliseconds duration{0};
};

struct Refusal {
  std::string error;  // id of the error table
  std::string message;
  std::vector<std::string> problems;
};

// Records for Ledger::append, which adds v, seq, time and prev. `run` is a ULID.
Json run_start(const std::string& run, const RunContext& context);
Json run_bound(const std::string& run, const BoundContainer& bound);
Json run_end(const std::string& run, const RunEnd& end);
// The engine started the job again; `count`: for the how manieth time.
Json run_restart(const std::string& run, long long count);
// The job showed that it does its work, `after` it was first watched, which is when it started.
Json run_ready(const std::string& run, std::chrono::milliseconds after);
// Somebody joined the job: `argv` is what was run in its container.
Json run_exec(const std::string& run, const std::vector<std::string>& argv);
Json run_refused(const std::string& run, const RunContext& context, const Refusal& refusal);

}  // namespace sparkrun::audit
