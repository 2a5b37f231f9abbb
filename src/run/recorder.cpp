// SPDX-License-Identifier: MIT
#include "run/recorder.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "preflight/report.hpp"

#include <algorithm>

namespace sparkrun::run {
namespace {

constexpr std::chrono::milliseconds git_timeout{3'000};

// `# branch.oid COMMIT`, other lines with `#`, and one for each file that was changed (git-status,
// "Porcelain Format Version 2"). Nothing where there is no commit yet.
std::optional<audit::GitState> read_status(std::string_view text) {
  constexpr std::string_view commit_mark = "# branch.oid ", no_commit = "(initial)";
  audit::GitState state;
  for (const std::string_view line : split(text, '\n')) {
    if (line.starts_with(commit_mark)) state.commit = line.substr(commit_mark.size());
    state.is_dirty |= !line.empty() && !line.starts_with('#');
  }
  if (state.commit.empty() || state.commit == no_commit) return std::nullopt;
  return state;
}

// Commit and cleanliness of the project's work tree; nothing outside git, or when git does not
// answer. Where it has too much to compare, what is there counts as changed.
std::optional<audit::GitState> read_git_state(const fs::path& root, sys::System& system) {
  const auto git = [&](std::vector<std::string> words) {
    // Plain files of a checkout may look like a repository whose settings name a program to run.
    words.insert(words.begin(), {"git", "--no-optional-locks", "-c", "safe.bareRepository=explicit",
                                 "-c", "core.fsmonitor=false", "-C", root.string()});
    return system.processes.run({.argv = std::move(words), .timeout = git_timeout});
  };
  const sys::ProcessResult status =
      git({"status", "--porcelain=v2", "--branch", "--no-ahead-behind", "--untracked-files=no"});
  if (status.is_success()) return read_status(status.out);
  const sys::ProcessResult head = git({"rev-parse", "--verify", "HEAD"});
  if (!head.is_success()) return std::nullopt;
  return audit::GitState{.commit = std::string{trim(head.out)}, .is_dirty = true};
}

std::optional<audit::PreflightSummary> summarise(const preflight::Report* report) {
  if (report == nullptr) return audit::PreflightSummary{.verdict = "not checked", .checks = {}};
  return audit::PreflightSummary{.verdict = report->verdict,
                                 .checks = preflight::check_texts(*report)};
}

}  // namespace

fs::path audit_root(const config::Settings& settings, const sys::Environment& environment) {
  const std::string configured = settings.text("audit_dir");
  return configured.empty() ? environment.state_directory() / "audit" : fs::path{configured};
}

fs::path ledger_folder(const config::Settings& settings, const sys::Environment& environment,
                       const std::string& host_id) {
  return audit::ledger_folder(audit_root(settings, environment), host_id, environment.uid);
}

Recorder::Recorder(const config::Settings& settings, const sys::System& system,
                   const std::string& host_id)
    : mode_(settings.text("audit")),
      ledger_(ledger_folder(settings, system.environment, host_id), system.clock) {}

void Recorder::append(const Json& record) {
  if (mode_ != "required") return append_or_warn(record);
  head_ = ledger_.append(record).to_string();
}

void Recorder::append_or_warn(const Json& record) {
  if (mode_ == "off") return;
  try {
    head_ = ledger_.append(record).to_string();
  } catch (
      const std::exception& error) {  // whatever it is: beside a running job nothing may be thrown
    warnings_.push_back(std::string{"not recorded: "} + error.what());
  }
}

audit::RunContext record_context(const Prepared& prepared, std::vector<std::string> argv,
                                 const preflight::Report* report, sys::System& system) {
  audit::RunContext context;
  context.plan = &prepared.plan;
  context.host = &prepared.host;
  context.engine = prepared.engine ? &*prepared.engine : nullptr;
  context.profile = prepared.plan.profile.name;
  context.argv = std::move(argv);
  context.preflight = summarise(report);
  if (prepared.lock) context.lock = audit::LockState{prepared.lock->source, prepared.lock->sha256};
  context.git = read_git_state(prepared.project.root, system);
  context.uid = system.environment.uid;
  context.tool_version = SPARKRUN_VERSION;
  return context;
}

}  // namespace sparkrun::run
