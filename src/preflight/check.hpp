// SPDX-License-Identifier: MIT
#pragma once

#include "engine/engine.hpp"
#include "plan/run_plan.hpp"
#include "sys/host_facts.hpp"

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sparkrun::preflight {

enum class Status { pass, info, skip, warn, fail };
std::string_view to_string(Status status);

// What the probe saw inside the image: `key -> value`, as probe.sh prints them. A key that is
// absent is a fact that is not known, which is never the same as "no".
struct ProbeFacts {
  std::map<std::string, std::string, std::less<>> values;
  [[nodiscard]] std::optional<std::string> get(std::string_view key) const;
  // Whether the fact is known and has that value.
  [[nodiscard]] bool is(std::string_view key, std::string_view value) const;
};

// All that a check may judge; a null pointer is "not looked at", and `*_note` says why.
struct Subject {
  const ProbeFacts* probe = nullptr;
  std::string probe_note;
  const engine::EngineFacts* engine = nullptr;
  std::string engine_note;
  const plan::RunPlan* plan = nullptr;  // none: only the host is checked
  sys::HostFacts host;
};

struct CheckResult {
  Status status = Status::skip;
  std::string message;  // one line: what was seen and, unless it is a pass, what it means
  std::string fix;      // what to do; empty for pass, info and skip
};

CheckResult passed(std::string message);
CheckResult informed(std::string message);
CheckResult skipped(std::string reason);
CheckResult warned(std::string message, std::string fix);
CheckResult failed(std::string message, std::string fix);

// One check, in a file of its own: `const Check g01_check{...}`. Judging is a pure function.
struct Check {
  std::string_view id;  // `G1`, `gpu`, `engine`: what --only takes and reports name
  std::string_view title;
  bool is_blocking;  // its `fail` blocks the run
  bool needs_probe;  // facts from inside the image
  CheckResult (*judge)(const Subject&);
  // Catalogue entry, printed by `explain ID`.
  std::string_view symptom, cause, remedy, sources, last_verified;
};

// All checks, sorted by file name (generated).
std::span<const Check* const> checks();
// Compared without case; null when there is none.
const Check* find_check(std::string_view id);

}  // namespace sparkrun::preflight
