// SPDX-License-Identifier: MIT
#include "base/error.hpp"
#include "base/json_value.hpp"
#include "cli/command.hpp"
#include "profile/store.hpp"
#include "run/written_plan.hpp"

#include <fmt/format.h>

#include <array>

namespace sparkrun::cli {
namespace {

constexpr auto options = std::to_array<Option>({
    {"NAME", "", Takes::values, "", "profiles to check; all that are found when left out",
     Values::profile},
});

std::vector<std::string> chosen_names(const Arguments& arguments, const profile::Store& store) {
  std::vector<std::string> names = arguments.values("NAME");
  if (!names.empty()) return names;
  for (const profile::ListedProfile& listed : store.list()) {
    if (!listed.is_shadowed) names.push_back(listed.name);
  }
  return names;
}

// Faults decide the exit code; warnings are what `run` would say, too.
int run(const Arguments& arguments, Context& context) {
  const profile::Project project =
      profile::find_project(context.system.environment, context.directory);
  const profile::Store store{project, context.system.environment};
  Output& output = context.output;
  ExitCode code = ExitCode::ok;
  Json json = Json::array();
  for (const std::string& name : chosen_names(arguments, store)) {
    try {
      const std::vector<std::string> warnings =
          run::written_warnings(store.load(name), project, context.system);
      json.push_back({{"profile", name}, {"valid", true}, {"warnings", warnings}});
      if (output.json) continue;
      output.result(fmt::format("{}: valid\n", name));
      for (const std::string& warning : warnings) output.result(fmt::format("  {}\n", warning));
    } catch (const Error& error) {
      code = worse(code, error.exit_code());
      json.push_back({{"profile", name}, {"valid", false}, {"error", to_json(error)}});
      if (!output.json) output.error(error);
    }
  }
  if (output.json) output.result_json(json);
  return static_cast<int>(code);
}

}  // namespace

extern const Command profile_check_command{
    .name = "profile check",
    .summary = "read profiles strictly, name every fault, and warn of what misleads",
    .options = options,
    .run = run};

}  // namespace sparkrun::cli
