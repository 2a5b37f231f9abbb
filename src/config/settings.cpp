// SPDX-License-Identifier: MIT
#include "config/settings.hpp"

#include "base/error.hpp"
#include "base/suggest.hpp"
#include "base/text.hpp"
#include "base/time.hpp"
#include "base/toml.hpp"
#include "sys/files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace sparkrun::config {
namespace {

constexpr long long number_max = 3600;

constexpr auto table = std::to_array<Setting>({
    {"allow", SettingKind::list, "", "", "trust names that project profiles may use"},
    {"audit", SettingKind::text, "required|best-effort|off", "required",
     "whether a run may start without a record"},
    {"audit_dir", SettingKind::text, "", "", "where the ledger lives, if not in the state folder"},
    {"cacert", SettingKind::text, "", "", "PEM file of CAs that registries may be signed by, too"},
    {"connect_timeout", SettingKind::number, "", "10",
     "seconds until a registry must be connected"},
    {"engine", SettingKind::text, "docker|podman", "",
     "the container engine; unset: what the profile names, else what is installed"},
    {"engine_command", SettingKind::list, "", "",
     "the words that call the engine, such as sudo -n docker; also `[engine] command`"},
    {"first_byte_timeout", SettingKind::number, "", "15", "seconds that a registry may be silent"},
    {"gpu_lock", SettingKind::text, "", "/run/lock/sparkrun-gpu.lock",
     "file whose lock a run with --exclusive holds; the same for all users"},
    {"hub_mirrors", SettingKind::list, "", "",
     "URLs of mirrors that are asked before Docker Hub, in this order"},
    {"locked", SettingKind::boolean, "", "", "run only what a current lockfile pins"},
    {"logs_kept", SettingKind::text, "", "30d",
     "how long what a run in the background printed is kept after its end"},
    {"offline", SettingKind::boolean, "", "false", "send no packet to a registry"},
    {"plain_http", SettingKind::list, "", "",
     "registries (HOST[:PORT]) that are asked without TLS"},
    {"preflight", SettingKind::boolean, "", "true", "check the image and the host before a run"},
    {"profile", SettingKind::text, "", "", "what `sparkrun run` alone starts"},
    {"reference_timeout", SettingKind::number, "", "55",
     "seconds for all that is asked for one reference, tries and waits included"},
    {"request_timeout", SettingKind::number, "", "30", "seconds for one request to a registry"},
    {"status_file", SettingKind::text, "", "", "file that a run's end is written to, as JSON"},
});

const Setting& find(std::string_view key) {
  const auto found = std::ranges::find(table, key, &Setting::key);
  if (found == table.end()) throw Error{"bug", fmt::format("no setting is called `{}`", key)};
  return *found;
}

std::vector<std::string> keys() {
  std::vector<std::string> names;
  for (const Setting& setting : table) names.emplace_back(setting.key);
  return names;
}

std::string_view describe(SettingKind kind) {
  switch (kind) {
    case SettingKind::boolean:
      return "true or false";
    case SettingKind::list:
      return "an array of strings";
    case SettingKind::number:
      return "a whole number from 1 to 3600";
    case SettingKind::text:
      break;
  }
  return "a string";
}

std::optional<bool> parse_boolean(std::string_view text) {
  for (const std::string_view yes : {"true", "1", "yes", "on"}) {
    if (equal_ignoring_case(text, yes)) return true;
  }
  for (const std::string_view no : {"false", "0", "no", "off", ""}) {
    if (equal_ignoring_case(text, no)) return false;
  }
  return std::nullopt;
}

// A mirror is a host: registries live at the root of one.
std::optional<std::string> find_mirror_fault(const std::string& urls) {
  for (std::string_view url : split(urls, '\n')) {
    const std::string typed = printable(trim(url));
    url = trim(url);
    if (url.empty()) continue;
    const size_t scheme = url.starts_with("https://") ? 8 : url.starts_with("http://") ? 7 : 0;
    if (url.ends_with('/')) url.remove_suffix(1);
    const bool is_host = scheme != 0 && url.size() > scheme &&
                         url.find_first_of("/?#@ ", scheme) == std::string_view::npos;
    if (!is_host) {
      return fmt::format("`hub_mirrors` holds URLs such as https://mirror.example, not `{}`",
                         typed);
    }
  }
  return std::nullopt;
}

// What is wrong with a value, or nothing.
std::optional<std::string> find_fault(const Setting& setting, const std::string& value) {
  if (setting.kind == SettingKind::boolean && !parse_boolean(value)) {
    return fmt::format("`{}` must be true or false, not `{}`", setting.key, printable(value));
  }
  if (setting.kind == SettingKind::number) {
    const long long number = parse_number(value).value_or(0);
    if (number >= 1 && number <= number_max) return std::nullopt;
    return fmt::format("`{}` must be {}, not `{}`", setting.key, describe(setting.kind),
                       printable(value));
  }
  if (setting.key == "hub_mirrors") return find_mirror_fault(value);
  if (setting.key == "logs_kept" && !parse_duration(value)) {
    return fmt::format("`logs_kept` is a time such as 12h or 30d, not `{}`", printable(value));
  }
  if (setting.choices.empty()) return std::nullopt;
  const auto choices = split(setting.choices, '|');
  if (std::ranges::find(choices, value) != choices.end()) return std::nullopt;
  return fmt::format("`{}` must be one of {}, not `{}`", setting.key, fmt::join(choices, ", "),
                     printable(value));
}

// The TOML value as text, or what is wrong with its type.
std::optional<std::string> to_text(const Setting& setting, const TomlNode& node) {
  if (setting.kind == SettingKind::text && node.kind == TomlNode::Kind::string) return node.string;
  if (setting.kind == SettingKind::number && node.kind == TomlNode::Kind::integer) {
    return std::to_string(node.integer);
  }
  if (setting.kind == SettingKind::boolean && node.kind == TomlNode::Kind::boolean) {
    return node.boolean ? "true" : "false";
  }
  if (setting.kind != SettingKind::list || node.kind != TomlNode::Kind::array) return std::nullopt;
  std::vector<std::string> items;
  for (const TomlNode& item : node.items) {
    if (item.kind != TomlNode::Kind::string) return std::nullopt;
    items.push_back(item.string);
  }
  return join(items, "\n");
}

}  // namespace

std::span<const Setting> settings() { return table; }

Settings Settings::load(const sys::Environment& environment, const sys::fs::path& system_file) {
  Settings result;
  result.load_file(system_file);
  result.load_file(environment.config_directory() / "config.toml");
  for (const Setting& setting : table) {
    const std::string variable = "SPARKRUN_" + to_upper(setting.key);
    std::optional<std::string> value = environment.get(variable);
    if (!value || value->empty()) continue;  // `SPARKRUN_LOCKED= sparkrun ..` takes a setting back
    if (setting.kind == SettingKind::list) std::ranges::replace(*value, ',', '\n');
    if (const auto fault = find_fault(setting, *value)) {
      throw Error{"config.invalid", fmt::format("{}: {}", variable, *fault)};
    }
    result.set(setting.key, *value, variable);
  }
  return result;
}

void Settings::load_file(const sys::fs::path& path) {
  const std::optional<std::string> content = sys::read_file(path);
  if (!content) return;
  const auto parsed = parse_toml(*content);
  if (const auto* fault = std::get_if<TomlFault>(&parsed)) {
    throw Error{"config.invalid", fmt::format("{}:{}:{}: {}", path.string(), fault->line,
                                              fault->column, fault->message)};
  }
  std::vector<std::string> problems;
  for (const auto& [key, node] : std::get<TomlNode>(parsed).entries) {
    // `[engine] name, command` says the same as `engine` and `engine_command`.
    const bool is_engine_table = key == "engine" && node.kind == TomlNode::Kind::table;
    if (!is_engine_table) {
      load_value(key, node, path, problems);
      continue;
    }
    for (const auto& [inner, value] : node.entries) {
      load_value(inner == "name" ? "engine" : "engine_" + inner, value, path, problems);
    }
  }
  if (!problems.empty()) {
    throw Error{
        "config.invalid", "the config file is not valid", {{"path", path.string()}}, problems};
  }
}

void Settings::load_value(const std::string& key, const TomlNode& node, const sys::fs::path& path,
                          std::vector<std::string>& problems) {
  const auto report = [&](const std::string& what) {
    problems.push_back(fmt::format("{}:{}:{}: {}", path.string(), node.line, node.column, what));
  };
  const auto setting = std::ranges::find(table, key, &Setting::key);
  if (setting == table.end()) {
    const bool is_inner = key.starts_with("engine_");  // of `[engine]`
    return report(fmt::format("unknown key `{}`{}",
                              printable(is_inner ? "engine." + key.substr(7) : key),
                              did_you_mean(key, keys())));
  }
  const std::optional<std::string> value = to_text(*setting, node);
  if (!value) {
    report(fmt::format("`{}` must be {}", key, describe(setting->kind)));
  } else if (const auto fault = find_fault(*setting, *value)) {
    report(*fault);
  } else {
    set(key, *value, path.string());
  }
}

void Settings::set(std::string_view key, std::string value, std::string origin) {
  values_[std::string{find(key).key}] = {std::move(value), std::move(origin)};
}

std::string Settings::text(std::string_view key) const {
  const auto found = values_.find(key);
  return found != values_.end() ? found->second.text : std::string{find(key).fallback};
}

std::optional<bool> Settings::boolean(std::string_view key) const {
  const auto found = values_.find(key);
  if (found != values_.end()) return parse_boolean(found->second.text);
  const std::string_view fallback = find(key).fallback;
  return fallback.empty() ? std::nullopt : parse_boolean(fallback);
}

std::chrono::seconds Settings::seconds(std::string_view key) const {
  return std::chrono::seconds{parse_number(text(key)).value_or(1)};
}

std::vector<std::string> Settings::list(std::string_view key) const {
  std::vector<std::string> items;
  const std::string all = text(key);
  for (const std::string_view item : split(all, '\n')) {
    if (!trim(item).empty()) items.emplace_back(trim(item));
  }
  return items;
}

std::string Settings::origin(std::string_view key) const {
  const auto found = values_.find(key);
  return found != values_.end() ? found->second.origin : "built in";
}

}  // namespace sparkrun::config
