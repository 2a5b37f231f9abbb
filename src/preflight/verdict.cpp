// SPDX-License-Identifier: MIT
#include "preflight/verdict.hpp"

#include "base/error.hpp"
#include "base/suggest.hpp"
#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sparkrun::preflight {
namespace {

std::vector<std::string> all_ids() {
  std::vector<std::string> ids;
  for (const Check* const check : checks()) ids.emplace_back(check->id);
  return ids;
}

std::vector<const Check*> chosen_checks(const std::vector<std::string>& only) {
  if (only.empty()) return {checks().begin(), checks().end()};
  std::vector<const Check*> wanted;
  for (const std::string& id : only) {
    const Check* const check = find_check(id);
    if (check == nullptr) {
      throw Error{"usage.bad_value",
                  fmt::format("there is no check `{}`{}; there are {}", printable(id),
                              did_you_mean(id, all_ids()), join(all_ids(), ", ")),
                  {{"command", "preflight"}}};
    }
    wanted.push_back(check);
  }
  std::vector<const Check*> chosen;
  std::ranges::copy_if(checks(), std::back_inserter(chosen), [&](const Check* check) {
    return std::ranges::find(wanted, check) != wanted.end();
  });
  return chosen;
}

CheckResult judge_one(const Check& check, const Subject& subject) {
  if (check.needs_probe && subject.probe == nullptr) {
    return skipped(subject.probe_note.empty() ? "the image was not looked at" : subject.probe_note);
  }
  return while_doing(fmt::format("judging check {}", check.id),
                     [&] { return check.judge(subject); });
}

}  // namespace

std::string verdict_of(const std::vector<std::pair<const Check*, CheckResult>>& results) {
  bool has_warning = false;
  for (const auto& [check, result] : results) {
    if (result.status == Status::fail && check->is_blocking) return "blocked";
    has_warning |= result.status == Status::fail || result.status == Status::warn;
  }
  return has_warning ? "ready-with-warnings" : "ready";
}

Report judge(const Subject& subject, const std::vector<std::string>& only) {
  Report report;
  for (const Check* const check : chosen_checks(only)) {
    report.results.emplace_back(check, judge_one(*check, subject));
  }
  report.verdict = verdict_of(report.results);
  return report;
}

}  // namespace sparkrun::preflight
