// SPDX-License-Identifier: MIT
#pragma once

#include "sys/terminal.hpp"

#include <string>
#include <string_view>

namespace sparkrun::test {

// Keeps what is written. Not a terminal, unless a test says so.
class FakeTerminal final : public sys::Terminal {
 public:
  std::string out;
  std::string err;
  std::string in;

  void write_out(std::string_view text) override { out += text; }
  void write_err(std::string_view text) override { err += text; }
  std::string read_in(size_t bytes_max) override { return in.substr(0, bytes_max); }
};

}  // namespace sparkrun::test
