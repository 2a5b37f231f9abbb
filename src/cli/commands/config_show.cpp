// SPDX-License-Identifier: MIT
#include "base/json_value.hpp"
#include "cli/command.hpp"

#include <fmt/format.h>

namespace sparkrun::cli {
namespace {

Json value_of(const config::Setting& setting, const config::Settings& settings) {
  switch (setting.kind) {
    case config::SettingKind::list:
      return settings.list(setting.key);
    case config::SettingKind::boolean: {
      const auto value = settings.boolean(setting.key);
      return value ? Json(*value) : Json();
    }
    case config::SettingKind::number:
      return settings.seconds(setting.key).count();
    case config::SettingKind::text:
      break;
  }
  return settings.text(setting.key);
}

int run(const Arguments&, Context& context) {
  Json json = Json::object();
  std::vector<std::vector<std::string>> rows = {{"KEY", "VALUE", "FROM"}};
  for (const config::Setting& setting : config::settings()) {
    const Json value = value_of(setting, context.settings);
    const std::string origin = context.settings.origin(setting.key);
    json[std::string{setting.key}] = {{"value", value}, {"origin", origin}};
    rows.push_back({std::string{setting.key}, to_json_line(value), origin});
  }
  context.output.result(json, render_table(rows));
  return 0;
}

}  // namespace

extern const Command config_show_command{.name = "config show",
                                         .summary = "print every setting with its origin",
                                         .options = {},
                                         .run = run};

}  // namespace sparkrun::cli
