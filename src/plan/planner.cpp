// SPDX-License-Identifier: MIT
#include "plan/planner.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "plan/caller.hpp"
#include "plan/lints.hpp"
#include "plan/mounts.hpp"
#include "plan/variables.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sparkrun::plan {
namespace {

using profile::Arity;
using profile::OptionValue;

void override_option(std::vector<OptionValue>& container, const OptionValue& wish) {
  const auto found = std::ranges::find(container, wish.option, &OptionValue::option);
  const bool is_flag = wish.option->arity == Arity::flag;
  const bool is_off = wish.values == std::vector<std::string>{"false"};
  if (is_flag && is_off != wish.option->is_on_by_default) {
    if (found != container.end()) container.erase(found);
  } else if (found == container.end()) {
    container.push_back({.option = wish.option,
                         .values = is_flag && !is_off ? std::vector<std::string>{} : wish.values});
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

bool wishes(const RunOptions& options, std::string_view key) {
  return std::ranges::any_of(options.container,
                             [&](const OptionValue& wish) { return wish.option->key == key; });
}

std::vector<OptionValue> merge_container(const profile::Profile& profile, const RunOptions& options,
                                         const PlanFacts& facts) {
  std::vector<OptionValue> container = profile.container;
  for (const OptionValue& wish : options.container) override_option(container, wish);
  if (options.mounts_working_directory && !wishes(options, "workdir")) {
    override_option(container, {.option = profile::find_by_key("workdir"),
                                .values = {facts.working_directory.string()}});
  }
  std::ranges::stable_sort(container, {}, &OptionValue::option);  // the order of the table
  return container;
}

// `memlock = "max"`: as much as this engine can give.
void set_memlock(RunPlan& plan) {
  constexpr std::string_view name = "memlock=";
  const long long most = plan.engine.memlock_bytes_max;
  for (OptionValue& option : plan.container) {
    if (option.option->key != "ulimits") continue;
    for (std::string& limit : option.values) {
      if (limit == "memlock=max") limit = fmt::format("{}{}", name, most);
      const bool is_unlimited = limit == "memlock=-1" || limit == "memlock=-1:-1";
      if (most < 0 || !is_unlimited) continue;
      plan.warnings.push_back(
          fmt::format("{} may lock {} bytes at most here and will refuse `memlock = -1`; "
                      "`memlock = \"max\"` takes what it may",
                      plan.engine.name, most));
    }
  }
}

// Flags that the other engine alone has.
void refuse_foreign_options(const RunPlan& plan) {
  using profile::EngineSet;
  const EngineSet foreign = plan.engine.name == "podman" ? EngineSet::docker : EngineSet::podman;
  std::vector<std::string> problems;
  for (const OptionValue& value : plan.container) {
    if (value.option->engines != foreign) continue;
    problems.push_back(fmt::format("`container.{}`: {} has no {}", value.option->key,
                                   plan.engine.name, value.option->flag));
  }
  if (problems.empty()) return;
  throw Error{"engine.unsupported",
              fmt::format("{} cannot do all that the profile asks for", plan.engine.name),
              {},
              problems};
}

}  // namespace

RunPlan make_plan(const profile::Profile& profile, PinnedImage image, GpuChoice gpu,
                  const RunOptions& options, const PlanFacts& facts) {
  RunPlan plan{.profile = profile,
               .engine = facts.engine,
               .image = std::move(image),
               .gpu = std::move(gpu),
               .command = options.command.empty() ? profile.command : options.command,
               .container = merge_container(profile, options, facts),
               .extra_args = profile.extra_args};
  plan.extra_args.insert(plan.extra_args.end(), options.extra_args.begin(),
                         options.extra_args.end());
  plan.interactive = facts.in_is_usable;
  plan.tty = options.tty == TtyMode::always ||
             (options.tty == TtyMode::automatic && facts.in_is_terminal && facts.out_is_terminal);

  Missing missing;
  add_mounts(plan, options, facts, missing);
  add_variables(plan, options, facts, missing);
  missing.throw_if_any();
  become_caller(plan, facts);
  set_memlock(plan);
  refuse_foreign_options(plan);

  plan.lints = lints(plan, facts);
  return plan;
}

}  // namespace sparkrun::plan
