// SPDX-License-Identifier: MIT
#include "base/toml.hpp"

#include "base/text.hpp"

#include <fmt/format.h>
// What the library asserts of a table's header its next branch reports (marzer/tomlplusplus#301).
#define TOML_ASSERT(expr) static_assert(true)
#include <toml++/toml.h>

#include <algorithm>
#include <cmath>

namespace sparkrun {
namespace {

constexpr int toml_depth_max = 32;

TomlNode convert(const toml::node& node, int depth);

TomlNode convert_table(const toml::table& table, int depth) {
  TomlNode result;
  result.kind = TomlNode::Kind::table;
  for (const auto& [key, value] : table) {
    TomlNode entry = convert(value, depth + 1);
    // The key is where a reader looks: for a table it is the header, for a value the line's start.
    entry.line = static_cast<int>(key.source().begin.line);
    entry.column = static_cast<int>(key.source().begin.column);
    result.entries.emplace_back(std::string{key.str()}, std::move(entry));
  }
  std::ranges::stable_sort(result.entries, [](const auto& a, const auto& b) {
    return std::pair{a.second.line, a.second.column} < std::pair{b.second.line, b.second.column};
  });
  return result;
}

TomlNode convert(const toml::node& node, int depth) {
  TomlNode result;
  if (depth > toml_depth_max) {
    result.kind = TomlNode::Kind::other;
  } else if (const toml::table* table = node.as_table()) {
    result = convert_table(*table, depth);
  } else if (const toml::array* array = node.as_array()) {
    result.kind = TomlNode::Kind::array;
    for (const toml::node& item : *array) result.items.push_back(convert(item, depth + 1));
  } else if (const auto* text = node.as_string()) {
    result.kind = TomlNode::Kind::string;
    result.string = text->get();
  } else if (const auto* integer = node.as_integer()) {
    result.kind = TomlNode::Kind::integer;
    result.integer = integer->get();
  } else if (const auto* real = node.as_floating_point()) {
    result.kind = TomlNode::Kind::real;
    result.real = real->get();
  } else if (const auto* boolean = node.as_boolean()) {
    result.kind = TomlNode::Kind::boolean;
    result.boolean = boolean->get();
  } else {
    result.kind = TomlNode::Kind::other;
  }
  result.line = static_cast<int>(node.source().begin.line);
  result.column = static_cast<int>(node.source().begin.column);
  return result;
}

bool is_bare_key_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-';
}

constexpr int key_parts_max = 100;

// The end of the quoted text that begins here: of one line, or of several between three quotes.
size_t end_of_quoted(std::string_view text, size_t at) {
  const char quote = text[at];
  const std::string three(3, quote);
  const bool is_long = text.substr(at).starts_with(three);
  for (at += is_long ? 3 : 1; at < text.size(); ++at) {
    if (text[at] == '\\' && quote == '"') {
      ++at;
    } else if (is_long ? text.substr(at).starts_with(three) : text[at] == quote) {
      return at + (is_long ? 2 : 0);
    } else if (text[at] == '\n' && !is_long) {
      return at - 1;  // the parser will say what is wrong
    }
  }
  return at;
}

// The line of a key with more dots than the parser, which recurses into each part, could take.
// Whatever ends a key, or cannot stand in one, ends the count; comments and quoted text are passed
// over.
std::optional<int> find_endless_key(std::string_view text) {
  int dots = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '"' || c == '\'') {
      at = end_of_quoted(text, at);
    } else if (c == '#') {
      at = std::min(text.find('\n', at), text.size()) - 1;
    } else if (c == '.') {
      if (++dots > key_parts_max) {
        return 1 + static_cast<int>(std::ranges::count(text.substr(0, at), '\n'));
      }
    } else if (c == '\n' || c == '=' || c == ',' || c == '{' || c == '[') {
      dots = 0;
    }
  }
  return std::nullopt;
}

}  // namespace

const TomlNode* TomlNode::find(std::string_view key) const {
  const auto found =
      std::ranges::find_if(entries, [&](const auto& entry) { return entry.first == key; });
  return found == entries.end() ? nullptr : &found->second;
}

std::string_view describe(TomlNode::Kind kind) {
  switch (kind) {
    case TomlNode::Kind::string:
      return "a string";
    case TomlNode::Kind::integer:
      return "a whole number";
    case TomlNode::Kind::real:
      return "a number with a fraction";
    case TomlNode::Kind::boolean:
      return "true or false";
    case TomlNode::Kind::array:
      return "an array";
    case TomlNode::Kind::table:
      return "a table";
    case TomlNode::Kind::other:
      break;
  }
  return "a date or time";
}

std::variant<TomlNode, TomlFault> parse_toml(std::string_view text) {
  if (const auto line = find_endless_key(text)) {
    return TomlFault{.message = fmt::format("a key has more than {} parts", key_parts_max),
                     .line = *line,
                     .column = 1};
  }
  try {
    return convert(toml::parse(text), 0);
  } catch (const toml::parse_error& error) {
    return TomlFault{.message = std::string{error.description()},
                     .line = static_cast<int>(error.source().begin.line),
                     .column = static_cast<int>(error.source().begin.column)};
  }
}

std::string toml_key(std::string_view key) {
  return !key.empty() && std::ranges::all_of(key, is_bare_key_character) ? std::string{key}
                                                                         : toml_string(key);
}

std::string toml_string(std::string_view value) {
  std::string quoted = "\"";
  for (const char c : value) {
    switch (c) {
      case '"':
        quoted += "\\\"";
        break;
      case '\\':
        quoted += "\\\\";
        break;
      case '\n':
        quoted += "\\n";
        break;
      case '\t':
        quoted += "\\t";
        break;
      case '\r':
        quoted += "\\r";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
          quoted += fmt::format("\\u{:04X}", static_cast<unsigned>(static_cast<unsigned char>(c)));
        } else {
          quoted += c;
        }
    }
  }
  return quoted + "\"";
}

std::optional<int> find_conflict_marker(std::string_view text) {
  int number = 0;
  for (const std::string_view line : split(text, '\n')) {
    ++number;
    if (line.starts_with("<<<<<<< ") || line.starts_with("||||||| ") || line == "=======" ||
        line.starts_with(">>>>>>> ")) {
      return number;
    }
  }
  return std::nullopt;
}

}  // namespace sparkrun
