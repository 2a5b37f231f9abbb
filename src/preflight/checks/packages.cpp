// SPDX-License-Identifier: MIT
#include "base/text.hpp"
#include "base/version.hpp"
#include "preflight/check.hpp"
#include "preflight/facts.hpp"

#include <fmt/format.h>

namespace sparkrun::preflight {
namespace {

// Version matching as in PEP 440: a pin without a local part (`+cu130`) does not ask about it, and
// `==5.13.*` asks about the beginning only.
bool matches(std::string_view wanted, std::string_view installed) {
  if (wanted.find('+') == std::string_view::npos) installed = split_once(installed, '+').first;
  if (wanted.ends_with(".*")) {
    wanted.remove_suffix(2);
    const auto parts = split(installed, '.');
    const size_t count = std::min(split(wanted, '.').size(), parts.size());
    const auto end = parts[count - 1].data() + parts[count - 1].size();
    installed = {installed.data(), static_cast<size_t>(end - installed.data())};
  }
  return Version::parse(wanted) == Version::parse(installed);
}

struct Tally {
  std::vector<std::string> faults;
  std::vector<std::string> unknown;
  size_t matching = 0;
};

void judge_pin(const ProbeFacts& facts, const std::string& name, const std::string& pin,
               Tally& tally) {
  const auto installed = facts.get("package." + normalized_package_name(name));
  if (!pin.starts_with("==")) {
    tally.unknown.push_back(fmt::format("{} (only `==` can be checked, not `{}`)", name, pin));
  } else if (!installed && !facts.is("packages", "complete")) {
    tally.unknown.push_back(name);
  } else if (!installed) {
    tally.faults.push_back(fmt::format("{} is not installed, {} is wanted", name, pin.substr(2)));
  } else if (!matches(trim(std::string_view{pin}.substr(2)), *installed)) {
    tally.faults.push_back(fmt::format("{} is {}, {} is wanted", name, *installed, pin.substr(2)));
  } else {
    ++tally.matching;
  }
}

CheckResult judge(const Subject& subject) {
  if (subject.plan == nullptr || subject.plan->profile.preflight.packages.empty()) {
    return skipped("the profile pins no packages");
  }
  if (subject.probe == nullptr) return skipped(subject.probe_note);
  Tally tally;
  for (const auto& [name, pin] : subject.plan->profile.preflight.packages) {
    judge_pin(*subject.probe, name, pin, tally);
  }
  if (!tally.faults.empty()) {
    return failed(
        join(tally.faults, "; "),
        "lock the image that has these versions, or correct `preflight.packages` in the profile");
  }
  if (!tally.unknown.empty()) return skipped("not known: " + join(tally.unknown, ", "));
  return passed(fmt::format("{} as pinned", tally.matching == 1
                                                ? std::string{"1 package"}
                                                : fmt::format("{} packages", tally.matching)));
}

}  // namespace

extern const Check packages_check;
const Check packages_check{
    .id = "packages",
    .title = "packages in the image are the pinned ones",
    .is_blocking = false,
    .needs_probe = true,
    .judge = judge,
    .symptom = "an import error or a changed result after the image was updated",
    .cause =
        "The versions in the image are not those that `preflight.packages` of the profile was "
        "tested "
        "with. pip installs combinations that a package does not support and only warns.",
    .remedy = "Lock the image that was tested, or test the new versions and change the pins.",
    .sources = "github.com/wshobson/agents spark stack matrix (known-good versions)",
    .last_verified = "2026-07-14",
};

}  // namespace sparkrun::preflight
