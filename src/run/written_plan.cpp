// SPDX-License-Identifier: MIT
#include "run/written_plan.hpp"

#include "plan/gpu_access.hpp"
#include "plan/planner.hpp"
#include "plan/trust.hpp"
#include "profile/import/facts.hpp"
#include "run/prepare.hpp"
#include "sys/host_facts.hpp"

#include <fmt/format.h>

#include <map>

namespace sparkrun::run {

plan::RunPlan written_plan(const profile::Profile& profile, const profile::Project& project,
                           const sys::System& system) {
  plan::PlanFacts facts = plan_facts(system, project, sys::read_host_facts(system.environment));
  facts.path_exists = [](const fs::path&) { return true; };
  facts.keeps_unset_variables = true;
  for (const profile::HostVariable& variable : profile.env_from_host)
    facts.variables.emplace(variable.name, "");
  if (!profile.engine.empty()) {
    facts.engine.name = profile.engine;
    facts.engine.command = {profile.engine};
  }
  const bool has_one_platform = profile.names_platforms && profile.platforms.size() == 1;
  const plan::PinnedImage image{.reference = profile.image,
                                .run_as = profile.image,
                                .platform = has_one_platform ? profile.platforms.front() : ""};
  const engine::EngineFacts podman{.name = "podman", .has_nvidia_cdi = true};
  const engine::EngineFacts* const engine = profile.engine == "podman" ? &podman : nullptr;
  return plan::make_plan(profile, image, plan::choose_gpu_access(profile.gpu, engine), {}, facts);
}

std::vector<std::string> written_warnings(const profile::Profile& profile,
                                          const profile::Project& project,
                                          const sys::System& system) {
  const plan::RunPlan plan = written_plan(profile, project, system);
  std::vector<std::string> warnings = plan.warnings;
  warnings.insert(warnings.end(), plan.lints.begin(), plan.lints.end());
  std::map<std::string, std::vector<std::string>> asks;
  const plan::PlanFacts facts =
      plan_facts(system, project, sys::read_host_facts(system.environment));
  for (const plan::TrustNeed& need : plan::trust_needs(plan, facts)) {
    asks[need.name].push_back(fmt::format("{} `{}`", need.where, profile::shown(need.value)));
  }
  for (const auto& [name, values] : asks) {
    warnings.push_back(
        fmt::format("a run will ask for `--allow {}`: {}", name, fmt::join(values, ", ")));
  }
  return warnings;
}

}  // namespace sparkrun::run
