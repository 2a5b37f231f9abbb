// SPDX-License-Identifier: MIT
#include "plan/run_plan.hpp"

#include <algorithm>

namespace sparkrun::plan {

const profile::OptionValue* RunPlan::find(std::string_view key) const {
  const auto found = std::ranges::find_if(
      container, [&](const profile::OptionValue& value) { return value.option->key == key; });
  return found == container.end() ? nullptr : &*found;
}

bool RunPlan::has_variable(std::string_view name) const {
  const auto is_name = [&](const auto& pair) { return pair.first == name; };
  return std::ranges::any_of(env, is_name) || std::ranges::any_of(file_variables, is_name) ||
         std::ranges::find(host_variables, name) != host_variables.end();
}

std::string RunPlan::name() const {
  const profile::OptionValue* const name = find("name");
  return name == nullptr ? "" : name->values.front();
}

}  // namespace sparkrun::plan
