// SPDX-License-Identifier: MIT
#include "plan/mounts.hpp"

#include "base/text.hpp"
#include "plan/paths.hpp"
#include "profile/values.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sparkrun::plan {
namespace {

ResolvedMount resolve_mount(const profile::Mount& mount, const fs::path& base,
                            const PlanFacts& facts, Missing& missing) {
  ResolvedMount resolved{.source = mount.source,
                         .target = mount.target,
                         .read_only = mount.read_only,
                         .options = mount.options};
  if (profile::is_volume_name(mount.source)) {
    resolved.is_volume = true;
    return resolved;
  }
  const ExpandedPath expanded = expand_path(mount.source, base, facts);
  resolved.source = expanded.path;
  const bool has_colon = (resolved.source + resolved.target).find(':') != std::string::npos;
  if (!expanded.problem.empty()) {
    missing.files.push_back(fmt::format("mount `{}`: {}", mount.source, expanded.problem));
  } else if (!mount.options.empty() && has_colon) {
    missing.files.push_back(
        fmt::format("mount `{}`: no engine takes `options` for a path with a colon", mount.source));
  } else if (!facts.engine.is_remote && !facts.path_exists(expanded.path)) {
    resolved.must_create = mount.create;
    if (!mount.create) {
      missing.files.push_back(
          fmt::format("mount `{}`: {} does not exist", mount.source, expanded.path));
    }
  }
  return resolved;
}

// A later mount on the same target replaces the earlier one, which docker would refuse.
void add_mount(RunPlan& plan, ResolvedMount mount) {
  const auto target = [](const ResolvedMount& one) {
    return fs::path{one.target + "/"}.lexically_normal();
  };
  const auto same = std::ranges::find(plan.mounts, target(mount), target);
  if (same == plan.mounts.end()) {
    plan.mounts.push_back(std::move(mount));
    return;
  }
  plan.warnings.push_back(fmt::format("{} is mounted twice: {} takes the place of {}", mount.target,
                                      mount.source, same->source));
  *same = std::move(mount);
}

// The engine is on another host, where its folders cannot be looked for.
void warn_of_remote_sources(RunPlan& plan) {
  std::vector<std::string> sources;
  for (const ResolvedMount& mount : plan.mounts) {
    if (!mount.is_volume) sources.push_back(mount.source);
  }
  if (!plan.engine.is_remote || sources.empty()) return;
  plan.warnings.push_back(fmt::format("mounted from {}, where nobody looked whether it exists: {}",
                                      plan.engine.remote_address, join(sources, ", ")));
}

// What the command line asks for in short: --here, --hf-cache.
std::vector<profile::Mount> wished_mounts(const RunOptions& options, const PlanFacts& facts) {
  std::vector<profile::Mount> mounts = options.mounts;
  if (options.mounts_working_directory) {
    const std::string here = facts.working_directory.string();
    mounts.push_back({.source = here, .target = here});
  }
  if (options.mounts_hf_cache) {
    const auto own = facts.variables.find("HF_HOME");
    mounts.push_back({.source = own == facts.variables.end() || own->second.empty()
                                    ? (facts.home / ".cache/huggingface").string()
                                    : (facts.working_directory / own->second).string(),
                      .target = std::string{hf_cache_target},
                      .create = true});
  }
  return mounts;
}

}  // namespace

std::string existing_file(const std::string& written, const std::string& what,
                          const PlanFacts& facts, Missing& missing) {
  const ExpandedPath expanded = expand_path(written, facts.project_root, facts);
  const std::string problem = !expanded.problem.empty() ? expanded.problem
                              : !facts.path_exists(expanded.path)
                                  ? expanded.path + " does not exist"
                                  : "";
  if (!problem.empty()) missing.files.push_back(fmt::format("{} `{}`: {}", what, written, problem));
  return expanded.path;
}

void add_mounts(RunPlan& plan, const RunOptions& options, const PlanFacts& facts,
                Missing& missing) {
  for (const profile::Mount& mount : plan.profile.mounts) {
    add_mount(plan, resolve_mount(mount, facts.project_root, facts, missing));
  }
  for (const profile::Mount& mount : wished_mounts(options, facts)) {
    ResolvedMount resolved = resolve_mount(mount, facts.working_directory, facts, missing);
    resolved.is_from_profile = false;
    add_mount(plan, std::move(resolved));
  }
  warn_of_remote_sources(plan);
}

}  // namespace sparkrun::plan
