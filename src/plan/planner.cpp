// SPDX-License-Identifier: MIT
#include "plan/planner.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "plan/lints.hpp"
#include "plan/paths.hpp"
#include "profile/values.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sparkrun::plan {
namespace {

using profile::Arity;
using profile::OptionValue;
using NameValue = std::pair<std::string, std::string>;

// What stands in the way; all of it is said at once.
struct Missing {
  std::vector<std::string> mounts;
  std::vector<std::string> variables;  // names
};

void override_option(std::vector<OptionValue>& container, const OptionValue& wish) {
  const auto found = std::ranges::find(container, wish.option, &OptionValue::option);
  const bool is_flag = wish.option->arity == Arity::flag;
  if (is_flag && wish.values == std::vector<std::string>{"false"}) {
    if (found != container.end()) container.erase(found);
  } else if (found == container.end()) {
    container.push_back(
        {.option = wish.option, .values = is_flag ? std::vector<std::string>{} : wish.values});
  } else if (wish.option->arity == Arity::value) {
    found->values = wish.values;
  } else if (wish.option->arity == Arity::list) {
    found->values.insert(found->values.end(), wish.values.begin(), wish.values.end());
  } else if (wish.option->arity == Arity::table) {
    for (const std::string& pair : wish.values) {
      const auto name = split_once(pair, '=').first;
      const auto same = std::ranges::find_if(found->values, [&](const std::string& other) {
        return split_once(other, '=').first == name;
      });
      if (same == found->values.end())
        found->values.push_back(pair);
      else
        *same = pair;
    }
  }
}

std::vector<OptionValue> merge_container(const profile::Profile& profile,
                                         const RunOptions& options) {
  std::vector<OptionValue> container = profile.container;
  for (const OptionValue& wish : options.container) override_option(container, wish);
  std::ranges::stable_sort(container, {}, &OptionValue::option);  // the order of the table
  return container;
}

void expand_env_files(std::vector<OptionValue>& container, const PlanFacts& facts,
                      Missing& missing) {
  const auto files = std::ranges::find_if(
      container, [](const OptionValue& value) { return value.option->flag == "--env-file"; });
  if (files == container.end()) return;
  for (std::string& file : files->values) {
    const ExpandedPath expanded = expand_path(file, facts.project_root, facts);
    const std::string problem = !expanded.problem.empty() ? expanded.problem
                                : !facts.path_exists(expanded.path)
                                    ? expanded.path + " does not exist"
                                    : "";
    if (!problem.empty()) missing.mounts.push_back(fmt::format("env file `{}`: {}", file, problem));
    file = expanded.path;
  }
}

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
  if (!expanded.problem.empty()) {
    missing.mounts.push_back(fmt::format("mount `{}`: {}", mount.source, expanded.problem));
  } else if (!facts.path_exists(expanded.path)) {
    resolved.must_create = mount.create;
    if (!mount.create) {
      missing.mounts.push_back(
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

void add_mounts(RunPlan& plan, const RunOptions& options, const PlanFacts& facts,
                Missing& missing) {
  for (const profile::Mount& mount : plan.profile.mounts) {
    add_mount(plan, resolve_mount(mount, facts.project_root, facts, missing));
  }
  for (const profile::Mount& mount : options.mounts) {
    ResolvedMount resolved = resolve_mount(mount, facts.working_directory, facts, missing);
    resolved.is_from_profile = false;
    add_mount(plan, std::move(resolved));
  }
}

void set_variable(RunPlan& plan, const NameValue& variable) {
  std::erase(plan.host_variables, variable.first);
  const auto found = std::ranges::find(plan.env, variable.first, &NameValue::first);
  if (found == plan.env.end())
    plan.env.push_back(variable);
  else
    found->second = variable.second;
}

void pass_variable(RunPlan& plan, const std::string& name) {
  std::erase_if(plan.env, [&](const NameValue& variable) { return variable.first == name; });
  if (std::ranges::find(plan.host_variables, name) == plan.host_variables.end()) {
    plan.host_variables.push_back(name);
  }
}

bool is_set_by(const RunOptions& options, const std::string& name) {
  return std::ranges::find(options.env, name, &NameValue::first) != options.env.end();
}

void add_variables(RunPlan& plan, const RunOptions& options, const PlanFacts& facts,
                   Missing& missing) {
  plan.env = plan.profile.env;
  std::vector<profile::HostVariable> from_host = plan.profile.env_from_host;
  from_host.insert(from_host.end(), options.env_from_host.begin(), options.env_from_host.end());
  for (const profile::HostVariable& variable : from_host) {
    if (is_set_by(options, variable.name)) continue;  // the caller gave the value
    if (facts.variables.contains(variable.name))
      pass_variable(plan, variable.name);
    else if (variable.is_required)
      missing.variables.push_back(variable.name);
  }
  for (const NameValue& variable : options.env) set_variable(plan, variable);
}

void refuse_missing(const Missing& missing) {
  std::vector<std::string> problems = missing.mounts;
  for (const std::string& name : missing.variables) {
    problems.push_back(fmt::format("the variable `{}` is not set", name));
  }
  if (problems.empty()) return;
  const std::string message =
      problems.size() == 1
          ? problems.front()
          : fmt::format("{} things that the run needs are missing", problems.size());
  if (missing.mounts.empty()) {
    throw Error{
        "env.missing",
        message,
        {{"variable", missing.variables.front()}, {"variables", join(missing.variables, ", ")}},
        problems};
  }
  throw Error{"mount.missing", message, {}, problems};
}

}  // namespace

RunPlan make_plan(const profile::Profile& profile, PinnedImage image, GpuChoice gpu,
                  const RunOptions& options, const PlanFacts& facts) {
  RunPlan plan{.profile = profile,
               .image = std::move(image),
               .gpu = std::move(gpu),
               .command = options.command.empty() ? profile.command : options.command,
               .container = merge_container(profile, options)};
  plan.interactive = facts.in_is_usable;
  plan.tty = options.tty == TtyMode::always ||
             (options.tty == TtyMode::automatic && facts.in_is_terminal && facts.out_is_terminal);

  Missing missing;
  expand_env_files(plan.container, facts, missing);
  add_mounts(plan, options, facts, missing);
  add_variables(plan, options, facts, missing);
  refuse_missing(missing);

  for (std::string& warning : lints(plan)) plan.warnings.push_back(std::move(warning));
  return plan;
}

}  // namespace sparkrun::plan
