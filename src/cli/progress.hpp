// SPDX-License-Identifier: MIT
#pragma once

#include "archive/watch.hpp"
#include "cli/output.hpp"
#include "sys/clock.hpp"

#include <chrono>
#include <optional>

namespace sparkrun::cli {

// One line on stderr that is written over: on a terminal only, a few times a second, not with
// --quiet. It is gone when this is.
class ProgressLine {
 public:
  ProgressLine(Output& output, const sys::Clock& clock) : output_(output), clock_(clock) {}
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  ~ProgressLine() { clear(); }

  void show(const archive::Progress& progress);
  void clear();

 private:
  Output& output_;
  const sys::Clock& clock_;
  std::optional<std::chrono::milliseconds> shown_at_;
};

// Shows the progress on that line, and lets signals interrupt. Both outlive it.
archive::Watch watch_on(ProgressLine& line, Output& output);

}  // namespace sparkrun::cli
