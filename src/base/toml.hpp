// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace sparkrun {

// A TOML value with the place where it stands. The library stays inside toml.cpp.
struct TomlNode {
  enum class Kind { string, integer, real, boolean, array, table, other };

  Kind kind = Kind::table;
  std::string string;
  long long integer = 0;
  double real = 0;
  bool boolean = false;
  std::vector<TomlNode> items;                              // of an array
  std::vector<std::pair<std::string, TomlNode>> entries{};  // of a table, in the order of the file
  int line = 0;                                             // 1-based
  int column = 0;
  size_t source = 0;  // which of several documents it is from; set by who merges them

  [[nodiscard]] const TomlNode* find(std::string_view key) const;
};

// `a string`, `an array`, ...: for "must be X, not Y".
std::string_view describe(TomlNode::Kind kind);

struct TomlFault {
  std::string message;
  int line = 0;
  int column = 0;
};

// The root table, or what is wrong with the text.
std::variant<TomlNode, TomlFault> parse_toml(std::string_view text);

// A bare key where TOML allows one, else a quoted one; a basic string with its escapes.
std::string toml_key(std::string_view key);
std::string toml_string(std::string_view value);

// The line (1-based) of git's first conflict marker, if there is one.
std::optional<int> find_conflict_marker(std::string_view text);

}  // namespace sparkrun
