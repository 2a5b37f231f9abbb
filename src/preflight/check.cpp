// SPDX-License-Identifier: MIT
#include "preflight/check.hpp"

#include "base/text.hpp"

#include <array>

namespace sparkrun::preflight {

std::string_view to_string(Status status) {
  constexpr std::array<std::string_view, 5> names = {"pass", "info", "skip", "warn", "fail"};
  return names.at(static_cast<size_t>(status));
}

std::optional<std::string> ProbeFacts::get(std::string_view key) const {
  const auto found = values.find(key);
  return found == values.end() ? std::nullopt : std::optional{found->second};
}

bool ProbeFacts::is(std::string_view key, std::string_view value) const {
  const auto found = values.find(key);
  return found != values.end() && found->second == value;
}

CheckResult passed(std::string message) { return {Status::pass, std::move(message), {}}; }
CheckResult informed(std::string message) { return {Status::info, std::move(message), {}}; }
CheckResult skipped(std::string reason) { return {Status::skip, std::move(reason), {}}; }
CheckResult warned(std::string message, std::string fix) {
  return {Status::warn, std::move(message), std::move(fix)};
}
CheckResult failed(std::string message, std::string fix) {
  return {Status::fail, std::move(message), std::move(fix)};
}

const Check* find_check(std::string_view id) {
  for (const Check* const check : checks()) {
    if (equal_ignoring_case(check->id, id)) return check;
  }
  return nullptr;
}

}  // namespace sparkrun::preflight
