// SPDX-License-Identifier: MIT
#include "base/csv.hpp"

namespace sparkrun {
namespace {

// Reads the quoted field at the start of `text` and takes it off; false where it is not closed.
bool take_quoted(std::string_view& text, std::string& field) {
  for (size_t at = 1; at < text.size(); ++at) {
    if (text[at] != '"') {
      field += text[at];
    } else if (at + 1 < text.size() && text[at + 1] == '"') {
      field += text[at++];
    } else {
      text.remove_prefix(at + 1);
      return true;
    }
  }
  return false;
}

}  // namespace

std::optional<std::vector<std::string>> parse_csv_record(std::string_view text) {
  std::vector<std::string> fields;
  while (true) {
    std::string& field = fields.emplace_back();
    if (text.starts_with('"')) {
      if (!take_quoted(text, field)) return std::nullopt;
    } else {
      field = text.substr(0, text.find(','));
      if (field.find_first_of("\"\r\n") != std::string::npos) return std::nullopt;
      text.remove_prefix(field.size());
    }
    if (text.empty()) return fields;
    if (text.front() != ',') return std::nullopt;
    text.remove_prefix(1);
  }
}

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos && !text.starts_with(' ')) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string{"\"\""} : std::string{c};
  return quoted + "\"";
}

}  // namespace sparkrun
