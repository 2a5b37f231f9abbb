// SPDX-License-Identifier: MIT
#pragma once

#include "sys/signals.hpp"

#include <string>
#include <string_view>

namespace sparkrun::sys {

// The three standard streams: where results (out) and talk (err) go. Only cli/ writes to it.
class Terminal {
 public:
  virtual ~Terminal() = default;
  // A closed pipe on `out` is no error: `sparkrun audit ls | head`.
  virtual void write_out(std::string_view text) = 0;
  virtual void write_err(std::string_view text) = 0;
  // All of standard input. Throws `file.unreadable`, also for more than `bytes_max`, and
  // `interrupted`.
  virtual std::string read_in(size_t bytes_max) = 0;

  // Throws `interrupted` when a signal has come: for long work that waits for nothing.
  virtual void throw_if_interrupted() {}

  bool in_is_terminal = false;
  bool out_is_terminal = false;
  bool err_is_terminal = false;
  bool in_is_usable = true;  // fd 0 is open and not /dev/null
};

class StandardTerminal final : public Terminal {
 public:
  explicit StandardTerminal(Signals& signals);
  void write_out(std::string_view text) override;
  void write_err(std::string_view text) override;
  std::string read_in(size_t bytes_max) override;
  void throw_if_interrupted() override { signals_.throw_if_any(); }

 private:
  Signals& signals_;
};

}  // namespace sparkrun::sys
