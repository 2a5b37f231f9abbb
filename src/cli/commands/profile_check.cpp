// SPDX-License-Identifier: MIT
#include "base/error.hpp"
#include "base/json_value.hpp"
#include "cli/command.hpp"
#include "profile/store.hpp"

#include <fmt/format.h>

#include <array>

namespace sparkrun::cli {
namespace {

constexpr auto options = std::to_array<Option>({
    {"NAME", "", Takes::values, "", "profiles to check; all that are found when left out",
     Values::profile},
});

int run(const Arguments& arguments, Context& context) {
  const profile::Project project =
      profile::find_project(context.system.environment, context.directory);
  const profile::Store store{project, context.system.environment};
  std::vector<std::string> names = arguments.values("NAME");
  if (names.empty()) {
    for (const profile::ListedProfile& listed : store.list()) {
      if (!listed.is_shadowed) names.push_back(listed.name);
    }
  }
  ExitCode code = ExitCode::ok;
  Json json = Json::array();
  for (const std::string& name : names) {
    try {
      static_cast<void>(store.load(name));
      json.push_back({{"profile", name}, {"valid", true}});
      if (!context.output.json) context.output.result(fmt::format("{}: valid\n", name));
    } catch (const Error& error) {
      code = worse(code, error.exit_code());
      json.push_back({{"profile", name}, {"valid", false}, {"error", to_json(error)}});
      if (!context.output.json) context.output.error(error);
    }
  }
  if (context.output.json) context.output.result_json(json);
  return static_cast<int>(code);
}

}  // namespace

extern const Command profile_check_command{.name = "profile check",
                                           .summary = "read profiles strictly and name every fault",
                                           .options = options,
                                           .run = run};

}  // namespace sparkrun::cli
