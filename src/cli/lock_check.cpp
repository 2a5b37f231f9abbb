// SPDX-License-Identifier: MIT
#include "cli/lock_check.hpp"

#include "base/json_value.hpp"
#include "base/text.hpp"
#include "cli/registry.hpp"
#include "lock/drift.hpp"
#include "lock/resolver.hpp"

#include <fmt/format.h>

namespace sparkrun::cli {
namespace {

// What is found of one profile.
struct Checked {
  // missing, stale, incomplete, unreadable; asked of the registry also gone, contradicted, unknown
  std::string state = "current";
  std::vector<std::string> reasons;
  std::vector<Error> errors;
  ExitCode code = ExitCode::ok;
};

Checked check_offline(const LockTarget& target) {
  if (target.error) {
    return {.state = "unreadable",
            .reasons = {},
            .errors = {*target.error},
            .code = target.error->exit_code()};
  }
  if (!target.stored) {
    return {.state = "missing", .reasons = {}, .errors = {}, .code = ExitCode::invalid};
  }
  const profile::Profile& profile = *target.profile;
  const lock::Lockfile& lock = target.stored->lock;
  Checked checked{.reasons =
                      lock::stale_reasons(lock, lock::expand(profile.image), profile.platforms)};
  if (!checked.reasons.empty()) {
    checked.state = "stale";
    checked.code = ExitCode::stale;
  } else if (!lock.is_complete()) {
    checked.state = "incomplete";
  }
  return checked;
}

std::string state_of(const Error& problem) {
  if (problem.exit_code() == ExitCode::gone) return "gone";
  const bool contradicts =
      problem.id() == "lock.invalid" || problem.exit_code() == ExitCode::no_platform;
  return contradicts ? "contradicted" : "unknown";
}

// Adds what the registries say of the locked digests.
void check_remote(const std::vector<LockTarget>& targets, std::vector<Checked>& checked,
                  oci::Registry& registry) {
  std::vector<lock::LockedProfile> locks;
  std::vector<size_t> places;
  for (size_t i = 0; i < targets.size(); ++i) {
    if (targets[i].error || !targets[i].stored) continue;
    places.push_back(i);
    locks.push_back({targets[i].name, targets[i].stored->lock});
  }
  const std::vector<std::vector<Error>> problems = lock::check_locked(locks, registry);
  for (size_t i = 0; i < places.size(); ++i) {
    Checked& mine = checked[places[i]];
    for (const Error& problem : problems[i]) {
      const ExitCode code = worse(mine.code, problem.exit_code());
      if (code != mine.code) mine.state = state_of(problem);
      mine.code = code;
      mine.errors.push_back(problem);
    }
  }
}

Json checked_json(const LockTarget& target, const Checked& checked) {
  Json errors = Json::array();
  for (const Error& error : checked.errors) errors.push_back(to_json(error));
  return {{"profile", target.name},
          {"state", checked.state},
          {"lock", target.path.string()},
          {"reasons", checked.reasons},
          {"errors", errors}};
}

void show(const LockTarget& target, const Checked& checked, Output& output) {
  output.result(fmt::format("{}: {}\n", printable(target.name), checked.state));
  for (const std::string& reason : checked.reasons) {
    output.result(fmt::format("  - {}\n", printable(reason)));
  }
  for (const Error& error : checked.errors) output.error(error);
}

}  // namespace

ExitCode check_locks(const std::vector<LockTarget>& targets, bool is_remote, Context& context) {
  std::vector<Checked> checked;
  for (const LockTarget& target : targets) checked.push_back(check_offline(target));
  if (is_remote) {
    oci::Registry registry =
        oci::connect(context.system, context.settings, registry_talk(context.output));
    check_remote(targets, checked, registry);
  }
  ExitCode code = ExitCode::ok;
  Json json = Json::array();
  for (size_t i = 0; i < targets.size(); ++i) {
    code = worse(code, checked[i].code);
    if (context.output.json)
      json.push_back(checked_json(targets[i], checked[i]));
    else
      show(targets[i], checked[i], context.output);
  }
  if (context.output.json) context.output.result_json(json);
  return code;
}

}  // namespace sparkrun::cli
