// SPDX-License-Identifier: MIT
#include "cli/output.hpp"

#include "base/json_value.hpp"
#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sparkrun::cli {
namespace {

std::string_view escape(Style style) {
  switch (style) {
    case Style::plain:
      return "";
    case Style::bold:
      return "\x1b[1m";
    case Style::dim:
      return "\x1b[2m";
    case Style::red:
      return "\x1b[31m";
    case Style::yellow:
      return "\x1b[33m";
    case Style::green:
      return "\x1b[32m";
  }
  return "";
}

std::string paint(bool color, Style style, std::string_view text) {
  if (!color || style == Style::plain) return std::string{text};
  return fmt::format("{}{}\x1b[0m", escape(style), text);
}

// Code points, which is columns for all that we print ourselves.
size_t width(std::string_view text) {
  return static_cast<size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

}  // namespace

void Output::result(std::string_view text) { terminal_.write_out(text); }

void Output::result_json(const Json& json_value) { terminal_.write_out(to_json_text(json_value)); }

void Output::result(const Json& as_json, std::string_view as_text) {
  if (json) return result_json(as_json);
  result(as_text);
}

void Output::note(std::string_view text) {
  if (!quiet) terminal_.write_err(printable(text) + "\n");
}

void Output::detail(std::string_view text) {
  if (verbose) terminal_.write_err(printable(text) + "\n");
}

void Output::warning(std::string_view text) {
  terminal_.write_err(paint(color_err, Style::yellow, "warning:") + " " + printable(text) + "\n");
}

void Output::error(const Error& error) {
  if (json) return terminal_.write_err(to_json_line(Json{{"error", to_json(error)}}) + "\n");
  std::string text = paint(color_err, Style::red, "error:") + " " + printable(error.what()) + "\n";
  for (const std::string& problem : error.problems()) text += "  - " + printable(problem) + "\n";
  for (const std::string& doing : error.context()) text += "  while: " + printable(doing) + "\n";
  if (!error.hint().empty()) text += "  hint:  " + printable(error.hint()) + "\n";
  text += fmt::format("  code:  {}\n", error.id());
  terminal_.write_err(text);
}

std::string Output::styled(Style style, std::string_view text) const {
  return paint(color_out, style, text);
}

std::string render_table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], width(printable(row[i])));
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string cell = printable(row[i]);
      line += cell + std::string(widths[i] - width(cell) + 2, ' ');
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

Json to_json(const Error& error) {
  Json details = Json::object();
  for (const auto& [name, value] : error.details()) details[name] = value;
  if (!error.problems().empty()) details["problems"] = error.problems();
  return Json{{"id", error.id()},         {"message", error.what()},
              {"while", error.context()}, {"details", details},
              {"hint", error.hint()},     {"exit_code", static_cast<int>(error.exit_code())}};
}

}  // namespace sparkrun::cli
