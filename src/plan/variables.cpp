// SPDX-License-Identifier: MIT
#include "plan/variables.hpp"

#include "plan/mounts.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sparkrun::plan {
namespace {

using NameValue = std::pair<std::string, std::string>;

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

void add_file_variables(RunPlan& plan, const PlanFacts& facts, Missing& missing) {
  for (const auto& [name, written] : plan.profile.env_from_file) {
    if (plan.has_variable(name)) continue;  // the caller gave the value
    plan.file_variables.emplace_back(
        name, existing_file(written, fmt::format("value of `{}` in", name), facts, missing));
  }
}

// Files that the engine's client reads itself.
void expand_env_files(RunPlan& plan, const PlanFacts& facts, Missing& missing) {
  for (profile::OptionValue& value : plan.container) {
    if (value.option->flag != "--env-file") continue;
    for (std::string& file : value.values) file = existing_file(file, "env file", facts, missing);
  }
}

}  // namespace

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
  if (options.mounts_hf_cache && !plan.has_variable("HF_HOME")) {
    set_variable(plan, {"HF_HOME", std::string{hf_cache_target}});
  }
  add_file_variables(plan, facts, missing);
  expand_env_files(plan, facts, missing);
}

}  // namespace sparkrun::plan
