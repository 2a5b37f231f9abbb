// SPDX-License-Identifier: MIT
#include "cli/progress.hpp"

#include "base/text.hpp"

#include <fmt/format.h>

namespace sparkrun::cli {
namespace {

constexpr std::chrono::milliseconds interval{200};

}  // namespace

void ProgressLine::show(const archive::Progress& progress) {
  if (output_.quiet || !output_.terminal().err_is_terminal) return;
  const auto now = clock_.monotonic();
  if (shown_at_ && now - *shown_at_ < interval) return;
  shown_at_ = now;
  const std::string blobs =
      progress.blobs_total == 0
          ? ""
          : fmt::format(", {} of {} blobs", progress.blobs, progress.blobs_total);
  output_.terminal().write_err(fmt::format("\r\x1b[K{}: {} of {}{}", progress.doing,
                                           human_bytes(progress.bytes),
                                           human_bytes(progress.bytes_total), blobs));
}

void ProgressLine::clear() {
  if (shown_at_) output_.terminal().write_err("\r\x1b[K");
  shown_at_.reset();
}

archive::Watch watch_on(ProgressLine& line, Output& output) {
  return {.progress = [&line](const archive::Progress& progress) { line.show(progress); },
          .checkpoint = [&output] { output.terminal().throw_if_interrupted(); }};
}

}  // namespace sparkrun::cli
