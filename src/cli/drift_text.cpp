// SPDX-License-Identifier: MIT
#include "cli/drift_text.hpp"

#include "base/json_value.hpp"
#include "base/secret.hpp"
#include "base/text.hpp"

#include <fmt/format.h>

namespace sparkrun::cli {
namespace {

constexpr size_t value_length_max = 200;

// Values are foreign: one line, bounded, and never a token that somebody left in an image.
std::string shown(const std::string& name, const std::string& value) {
  if (is_secret_name(name) || is_secret(name, value)) return std::string{redacted};
  const std::string text = redact(one_line(value.substr(0, value_length_max)));
  return value.size() > value_length_max ? text + "..." : text;
}

std::string change_text(const lock::Change& change) {
  const std::string name = shown("", change.name);
  if (!change.before) return fmt::format("+ {}: {}", name, shown(name, *change.after));
  if (!change.after) return fmt::format("- {}: {}", name, shown(name, *change.before));
  return fmt::format("{}: {} -> {}", name, shown(name, *change.before), shown(name, *change.after));
}

Json change_json(const std::vector<lock::Change>& changes) {
  Json list = Json::array();
  for (const lock::Change& change : changes) {
    const auto value = [&](const std::optional<std::string>& text) {
      return text ? Json(shown(change.name, *text)) : Json();
    };
    list.push_back(
        {{"name", change.name}, {"before", value(change.before)}, {"after", value(change.after)}});
  }
  return list;
}

}  // namespace

std::string difference_text(const lock::ImageDifference& difference, std::string_view indent) {
  std::string text;
  const auto add = [&](std::string_view what, const std::string& fact) {
    text += fmt::format("{}{:<7} {}\n", indent, what, fact);
  };
  for (const lock::Change& change : difference.env) add("env", change_text(change));
  for (const lock::Change& change : difference.labels) add("label", change_text(change));
  for (const lock::Change& change : difference.settings) add("config", change_text(change));
  if (difference.layers_new + difference.layers_gone > 0) {
    add("layers", fmt::format("{} shared, {} new, {} gone; {} to download",
                              difference.layers_shared, difference.layers_new,
                              difference.layers_gone, human_bytes(difference.new_bytes)));
  }
  return text;
}

Json difference_json(const lock::ImageDifference& difference) {
  return {{"env", change_json(difference.env)},
          {"labels", change_json(difference.labels)},
          {"config", change_json(difference.settings)},
          {"layers",
           {{"shared", difference.layers_shared},
            {"new", difference.layers_new},
            {"gone", difference.layers_gone},
            {"new_bytes", difference.new_bytes}}}};
}

std::string created_text(const std::string& created, TimePoint now) {
  const auto time = parse_rfc3339(created);
  if (!time) return "";
  const std::string day = to_rfc3339(*time).substr(0, 10);
  const auto days = std::chrono::floor<std::chrono::days>(now - *time).count();
  constexpr long days_of_month = 30;
  constexpr long days_of_year = 365;
  if (days < days_of_month) return "created " + day;
  const long months = days / days_of_month;
  const std::string age = days >= 2 * days_of_year ? fmt::format("{} years", days / days_of_year)
                          : months == 1            ? "1 month"
                                                   : fmt::format("{} months", months);
  return fmt::format("created {}, {} ago", day, age);
}

}  // namespace sparkrun::cli
