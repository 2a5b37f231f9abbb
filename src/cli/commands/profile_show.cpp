// SPDX-License-Identifier: MIT
#include "base/json_value.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "plan/argv.hpp"
#include "profile/store.hpp"
#include "run/written_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
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
  if (const auto& ready = profile.ready) {
    Json& json_ready = json["ready"] = {{"timeout_seconds", ready->timeout.count()}};
    json_ready[ready->http.empty() ? "log" : "http"] =
        ready->http.empty() ? ready->log : ready->http;
  }
  return json;
}

// A value of a profile, as it is written in TOML's own words (which are JSON's for these).
Json to_json(const TomlNode& node) {
  using Kind = TomlNode::Kind;
  if (node.kind == Kind::string) return node.string;
  if (node.kind == Kind::integer) return node.integer;
  if (node.kind == Kind::real) return node.real;
  if (node.kind == Kind::boolean) return node.boolean;
  Json array = Json::array();
  for (const TomlNode& item : node.items) array.push_back(to_json(item));
  return array;
}

struct EffectiveValue {
  std::string key;  // `container.ipc`, `mount[0].source`
  Json value;
  std::string origin;  // `built-in profile pytorch:22`, `default`
};

class Values {
 public:
  explicit Values(const profile::LoadedProfile& loaded) : loaded_(loaded) {}

  std::vector<EffectiveValue> list() {
    add("", loaded_.root);
    const profile::Profile& profile = loaded_.profile;
    add_default("platforms", Json(profile.platforms));
    add_default("gpu.access", Json(profile::to_string(profile.gpu.access)));
    add_default("gpu.devices", Json(profile.gpu.devices));
    if (profile.ready) add_default("ready.timeout", Json("20m"));
    return std::move(values_);
  }

 private:
  void add(const std::string& key, const TomlNode& node) {
    const bool is_list_of_tables =
        !node.items.empty() && node.items.front().kind == TomlNode::Kind::table;
    if (node.kind == TomlNode::Kind::table) {
      for (const auto& [name, inner] : node.entries)
        add(key.empty() ? toml_key(name) : key + "." + toml_key(name), inner);
    } else if (is_list_of_tables) {
      for (size_t i = 0; i < node.items.size(); ++i)
        add(fmt::format("{}[{}]", key, i), node.items[i]);
    } else {
      const std::string origin = fmt::format("{}:{}", loaded_.sources.at(node.source), node.line);
      values_.push_back({key, to_json(node), origin});
    }
  }

  void add_default(const std::string& key, Json value) {
    if (std::ranges::find(values_, key, &EffectiveValue::key) == values_.end())
      values_.push_back({key, std::move(value), "default"});
  }

  const profile::LoadedProfile& loaded_;
  std::vector<EffectiveValue> values_;
};

std::string to_text(const std::vector<EffectiveValue>& values) {
  constexpr size_t column_max = 60;
  size_t width = 0;
  std::vector<std::string> lines;
  for (const EffectiveValue& value : values) {
    lines.push_back(fmt::format("{} = {}", value.key, to_json_line(value.value)));
    if (lines.back().size() <= column_max) width = std::max(width, lines.back().size());
  }
  std::string text;
  for (size_t i = 0; i < values.size(); ++i)
    text += fmt::format("{:<{}}  # {}\n", lines[i], width, values[i].origin);
  return text;
}

int run(const Arguments& arguments, Context& context) {
  const profile::Project project =
      profile::find_project(context.system.environment, context.directory);
  const profile::LoadedProfile loaded =
      profile::Store{project, context.system.environment}.load_with_origins(
          arguments.value_or("NAME", ""));
  if (arguments.has("--argv")) {
    const std::vector<std::string> argv =
        plan::run_argv(run::written_plan(loaded.profile, project, context.system));
    context.output.result(Json{{"argv", argv}}, shell_join(argv) + "\n");
    return 0;
  }
  const std::vector<EffectiveValue> values = Values{loaded}.list();
  if (!context.output.json) {
    context.output.result(printable(to_text(values)));
    return 0;
  }
  Json json = to_json(loaded.profile);
  Json& origins = json["origins"] = Json::object();
  for (const EffectiveValue& value : values) origins[value.key] = value.origin;
  context.output.result_json(json);
  return 0;
}

}  // namespace

extern const Command profile_show_command{
    .name = "profile show",
    .summary = "print a profile after inheritance, each value with its origin",
    .options = options,
    .run = run};

}  // namespace sparkrun::cli
