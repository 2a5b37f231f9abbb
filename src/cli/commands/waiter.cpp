// SPDX-License-Identifier: MIT
#include "cli/running.hpp"
#include "run/background.hpp"

#include <array>

namespace sparkrun::cli {
namespace {

constexpr auto options = std::to_array<Option>({
    {"RUN", "", Takes::value, "", "the run's id", Values::run, {}, true},
});

int run(const Arguments& arguments, Context& context) {
  // The lock of the run's folder and, for an exclusive run, that of the GPU.
  sys::keep_from_children(sys::handed_over_fd);
  sys::keep_from_children(sys::handed_over_fd + 1);
  NotedRun noted = open_noted_run(arguments, context);
  noted.folder.take_over(sys::handed_over_fd);
  run::stay_with(noted.folder, *noted.engine, noted.recorder, context.system);
  for (const std::string& warning : noted.recorder.warnings()) context.output.warning(warning);
  return 0;
}

}  // namespace

extern const Command waiter_command{.name = "__wait",
                                    .summary = "stay with a run in the background",
                                    .options = options,
                                    .run = run,
                                    .is_hidden = true};

}  // namespace sparkrun::cli
