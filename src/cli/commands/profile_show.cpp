// SPDX-License-Identifier: MIT
#include "base/json_value.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "plan/argv/docker.hpp"
#include "plan/gpu_access.hpp"
#include "plan/planner.hpp"
#include "profile/store.hpp"
#include "run/prepare.hpp"

#include <fmt/format.h>

#include <array>

namespace sparkrun::cli {
namespace {

constexpr auto options = std::to_array<Option>({
    {"NAME", "", Takes::value, "", "the profile", Values::profile, {}, true},
    {"--argv", "", Takes::nothing, "",
     "print the command that it stands for, with the image as written"},
});

Json to_json(const profile::Profile& profile) {
  Json json{
      {"name", profile.name},
      {"origin", profile::to_string(profile.origin)},
      {"path", profile.path.string()},
      {"sha256", profile.sha256},
      {"summary", profile.summary},
      {"purpose", profile.purpose},
      {"image", profile.image},
      {"fallback", profile.fallback},
      {"platforms", profile.platforms},
      {"engine", profile.engine},
      {"command", profile.command},
      {"gpu",
       {{"access", profile::to_string(profile.gpu.access)}, {"devices", profile.gpu.devices}}}};
  Json& variables = json["env_from_host"] = Json::array();
  for (const profile::HostVariable& variable : profile.env_from_host) {
    variables.push_back(variable.name + (variable.is_required ? "" : "?"));
  }
  Json& container = json["container"] = Json::object();
  for (const profile::OptionValue& option : profile.container)
    container[std::string{option.option->key}] = option.values;
  if (!profile.extra_args.empty()) container["extra_args"] = profile.extra_args;
  Json& mounts = json["mount"] = Json::array();
  for (const profile::Mount& mount : profile.mounts) {
    mounts.push_back({{"source", mount.source},
                      {"target", mount.target},
                      {"create", mount.create},
                      {"read_only", mount.read_only},
                      {"options", mount.options}});
  }
  Json& env = json["env"] = Json::object();
  for (const auto& [name, value] : profile.env) env[name] = value;
  Json& files = json["env_from_file"] = Json::object();
  for (const auto& [name, path] : profile.env_from_file) files[name] = path;
  Json& preflight = json["preflight"] = Json::object();
  if (profile.preflight.min_available_gib)
    preflight["min_available_gib"] = *profile.preflight.min_available_gib;
  preflight["packages"] = profile.preflight.packages;
  return json;
}

// One `key = value` a line; nested members are written with dots.
void add_lines(const std::string& key, const Json& value, std::string& text) {
  if (value.is_object()) {
    for (const auto& [name, inner] : value.items())
      add_lines(key.empty() ? name : key + "." + name, inner, text);
  } else if (!value.empty() && value != "") {
    text += fmt::format("{} = {}\n", key, to_json_line(value));
  }
}

// Neither lock nor engine nor network, and nothing of this host's state: what the file says, for
// the project that it is in. Mount sources count as there and passed variables as set.
std::vector<std::string> argv_of(const profile::Profile& profile, const profile::Project& project,
                                 const sys::System& system) {
  plan::PlanFacts facts = run::plan_facts(system, project);
  facts.path_exists = [](const plan::fs::path&) { return true; };
  for (const profile::HostVariable& variable : profile.env_from_host)
    facts.variables.emplace(variable.name, "");
  const plan::PinnedImage image{.reference = profile.image,
                                .run_as = profile.image,
                                .platform = profile.names_platforms && profile.platforms.size() == 1
                                                ? profile.platforms.front()
                                                : ""};
  return plan::docker_argv(
      plan::make_plan(profile, image, plan::choose_gpu_access(profile.gpu, nullptr), {}, facts));
}

int run(const Arguments& arguments, Context& context) {
  const profile::Project project =
      profile::find_project(context.system.environment, context.directory);
  const profile::Profile profile =
      profile::Store{project, context.system.environment}.load(arguments.value_or("NAME", ""));
  if (arguments.has("--argv")) {
    const std::vector<std::string> argv = argv_of(profile, project, context.system);
    if (context.output.json)
      context.output.result_json(Json{{"argv", argv}});
    else
      context.output.result(shell_join(argv) + "\n");
  } else if (context.output.json) {
    context.output.result_json(to_json(profile));
  } else {
    std::string text;
    add_lines("", to_json(profile), text);
    context.output.result(printable(text));
  }
  return 0;
}

}  // namespace

extern const Command profile_show_command{.name = "profile show",
                                          .summary = "print a profile after inheritance",
                                          .options = options,
                                          .run = run};

}  // namespace sparkrun::cli
