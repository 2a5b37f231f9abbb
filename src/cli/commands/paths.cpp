// SPDX-License-Identifier: MIT

#include "base/json_value.hpp"
#include "cli/command.hpp"
#include "profile/store.hpp"
#include "run/recorder.hpp"
#include "sys/host_facts.hpp"

namespace sparkrun::cli {
namespace {

int run(const Arguments&, Context& context) {
  const sys::Environment& environment = context.system.environment;
  const profile::Project project = profile::find_project(environment, context.directory);
  const std::string host = sys::read_host_facts(environment).id;
  const std::vector<std::pair<std::string, std::string>> paths = {
      {"project", project.is_project ? project.root.string() : ""},
      {"config", (environment.config_directory() / "config.toml").string()},
      {"profiles", (environment.config_directory() / "profiles").string()},
      {"lockfiles", (environment.config_directory() / "lockfiles").string()},
      {"ledger", run::ledger_folder(context.settings, environment, host).string()},
      {"runs", (environment.state_directory() / "runs").string()},
      {"pins", (environment.state_directory() / "pins").string()},
      {"cache", environment.cache_directory().string()},
  };
  Json json = Json::object();
  std::vector<std::vector<std::string>> rows;
  for (const auto& [name, path] : paths) {
    json[name] = path.empty() ? Json() : Json(path);
    rows.push_back({name, path.empty() ? "(none here)" : path});
  }
  context.output.result(json, render_table(rows));
  return 0;
}

}  // namespace

extern const Command paths_command{
    .name = "paths", .summary = "print where sparkrun keeps its files", .options = {}, .run = run};

}  // namespace sparkrun::cli
