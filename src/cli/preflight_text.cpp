// SPDX-License-Identifier: MIT
#include "cli/preflight_text.hpp"

#include "base/error.hpp"
#include "base/text.hpp"

#include <fmt/format.h>

namespace sparkrun::cli {
namespace {

std::string one_line(const preflight::Check& check, const preflight::CheckResult& result) {
  std::string text = fmt::format("{}: {}", check.id, result.message);
  if (!result.fix.empty()) text += fmt::format("; {}", result.fix);
  return text;
}

}  // namespace

void show_report(const preflight::Report& report, Output& output) {
  std::vector<std::string> problems, warned;
  for (const auto& [check, result] : report.results) {
    const bool is_fail = result.status == preflight::Status::fail;
    if (is_fail && check->is_blocking) {
      problems.push_back(one_line(*check, result));
    } else if (is_fail || result.status == preflight::Status::warn) {
      output.warning(one_line(*check, result));
      warned.emplace_back(check->id);
    }
  }
  if (report.is_blocked()) {
    throw Error{"preflight.blocked", "preflight: blocked", {}, problems};
  }
  output.note(warned.empty()
                  ? "preflight: " + report.verdict
                  : fmt::format("preflight: {} ({})", report.verdict, join(warned, ", ")));
}

std::string report_table(const preflight::Report& report) {
  std::vector<std::vector<std::string>> rows = {{"CHECK", "STATUS", "WHAT WAS SEEN"}};
  for (const auto& [check, result] : report.results) {
    rows.push_back(
        {std::string{check->id}, std::string{preflight::to_string(result.status)}, result.message});
    if (!result.fix.empty()) rows.push_back({"", "", "-> " + result.fix});
  }
  return render_table(rows);
}

}  // namespace sparkrun::cli
