// SPDX-License-Identifier: MIT
#pragma once

#include "base/error.hpp"
#include "base/json.hpp"
#include "sys/terminal.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace sparkrun::cli {

enum class Style { plain, bold, dim, red, yellow, green };

// The only way to the user: results on stdout, talk on stderr. Foreign text is made printable here,
// so that nothing from a registry or a file can drive the terminal.
class Output {
 public:
  explicit Output(sys::Terminal& terminal) : terminal_(terminal) {}

  bool json = false;
  bool quiet = false;
  bool verbose = false;
  bool color_out = false;
  bool color_err = false;

  // Result text, line by line as it is.
  void result(std::string_view text);
  void result_json(const Json& json_value);  // indented, final newline
  // The same result in two forms: the JSON with --json, else the text.
  void result(const Json& as_json, std::string_view as_text);

  void note(std::string_view text);     // talk; silent with --quiet
  void detail(std::string_view text);   // talk that only --verbose shows
  void warning(std::string_view text);  // `warning: ..`
  void error(const Error& error);       // a block of lines, or one JSON object with --json

  // `text` in that style where stdout shows colour.
  [[nodiscard]] std::string styled(Style style, std::string_view text) const;

  [[nodiscard]] sys::Terminal& terminal() { return terminal_; }

 private:
  sys::Terminal& terminal_;
};

// Columns padded to their widest cell, two blanks between, no trailing blanks. The first row is the
// heading.
std::string render_table(const std::vector<std::vector<std::string>>& rows);

Json to_json(const Error& error);

}  // namespace sparkrun::cli
