// SPDX-License-Identifier: MIT

#include "base/json_value.hpp"
#include "cli/command.hpp"
#include "profile/store.hpp"

namespace sparkrun::cli {
namespace {

int run(const Arguments&, Context& context) {
  const profile::Project project =
      profile::find_project(context.system.environment, context.directory);
  Json json = Json::array();
  std::vector<std::vector<std::string>> rows = {{"PROFILE", "ORIGIN", "IMAGE", "SUMMARY"}};
  for (const profile::ListedProfile& listed :
       profile::Store{project, context.system.environment}.list()) {
    const std::string origin{profile::to_string(listed.origin)};
    json.push_back({{"name", listed.name},
                    {"origin", origin},
                    {"path", listed.path.string()},
                    {"image", listed.image},
                    {"summary", listed.summary},
                    {"shadowed", listed.is_shadowed},
                    {"problem", listed.problem}});
    rows.push_back({listed.name, listed.is_shadowed ? origin + " (shadowed)" : origin, listed.image,
                    listed.problem.empty() ? listed.summary : "invalid: " + listed.problem});
  }
  context.output.result(json, render_table(rows));
  return 0;
}

}  // namespace

extern const Command profile_ls_command{.name = "profile ls",
                                        .summary = "list the profiles and where they come from",
                                        .options = {},
                                        .run = run};

}  // namespace sparkrun::cli
