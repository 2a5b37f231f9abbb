// SPDX-License-Identifier: MIT
#include "plan/caller.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace sparkrun::plan {
namespace {

using profile::OptionValue;

// Of mode 1777 in every image, so it is a home for anybody.
constexpr std::string_view home = "/tmp";

struct Variable {
  std::string_view name;
  std::string value;
};

// Where the job finds a mounted cache that it may enter, else a place that it may make.
std::string hf_home(const RunPlan& plan) {
  const auto mount = std::ranges::find_if(plan.mounts, [](const ResolvedMount& one) {
    return fs::path{one.target}.lexically_normal().filename() == "huggingface" &&
           !one.target.starts_with("/root/");
  });
  return mount == plan.mounts.end() ? fmt::format("{}/.cache/huggingface", home) : mount->target;
}

void set_option(RunPlan& plan, std::string_view key, std::string value) {
  const profile::Option* const option = profile::find_by_key(key);
  const auto found = std::ranges::find(plan.container, option, &OptionValue::option);
  if (found != plan.container.end()) {
    found->values = {std::move(value)};
    return;
  }
  plan.container.push_back({.option = option, .values = {std::move(value)}});
  std::ranges::stable_sort(plan.container, {}, &OptionValue::option);
}

void warn_of_roots_home(RunPlan& plan) {
  for (const ResolvedMount& mount : plan.mounts) {
    if (!mount.target.starts_with("/root/")) continue;
    plan.warnings.push_back(
        fmt::format("{} is below /root, which the user of the job may not enter", mount.target));
  }
}

}  // namespace

void become_caller(RunPlan& plan, const PlanFacts& facts) {
  const OptionValue* const user = plan.find("user");
  if (user == nullptr || user->values.front() != "caller") return;
  const Caller& caller = facts.caller;
  const bool is_podman = plan.engine.name == "podman";
  if (plan.engine.is_rootless && !is_podman) {
    const profile::Option* const option = user->option;
    std::erase_if(plan.container, [&](const OptionValue& value) { return value.option == option; });
    return;
  }
  if (plan.engine.is_rootless && plan.find("userns") == nullptr) {
    set_option(plan, "userns", "keep-id");
  }
  set_option(plan, "user", fmt::format("{}:{}", caller.uid, caller.gid));
  if (caller.uid == 0) return;
  const std::string name = caller.name.empty() ? std::to_string(caller.uid) : caller.name;
  const std::array variables = std::to_array<Variable>({
      {"HOME", std::string{home}},
      {"USER", name},
      {"LOGNAME", name},
      {"HF_HOME", hf_home(plan)},
      {"XDG_CACHE_HOME", fmt::format("{}/.cache", home)},
      {"TRITON_CACHE_DIR", fmt::format("{}/.cache/triton", home)},
      {"TORCHINDUCTOR_CACHE_DIR", fmt::format("{}/.cache/torchinductor", home)},
  });
  for (const Variable& variable : variables) {
    if (!plan.has_variable(variable.name)) plan.env.emplace_back(variable.name, variable.value);
  }
  warn_of_roots_home(plan);
}

}  // namespace sparkrun::plan
