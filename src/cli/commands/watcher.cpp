// SPDX-License-Identifier: MIT
#include "cli/running.hpp"
#include "run/readiness.hpp"

#include <array>

namespace sparkrun::cli {
namespace {

constexpr auto options = std::to_array<Option>({
    {"RUN", "", Takes::value, "", "the run's id", Values::run, {}, true},
});

int run(const Arguments& arguments, Context& context) {
  NotedRun noted = open_noted_run(arguments, context);
  run::watch_readiness(noted.folder, *noted.engine, noted.recorder, context.system);
  for (const std::string& warning : noted.recorder.warnings()) context.output.warning(warning);
  return 0;
}

}  // namespace

extern const Command watcher_command{.name = "__ready",
                                     .summary = "watch until a run is ready",
                                     .options = options,
                                     .run = run,
                                     .is_hidden = true};

}  // namespace sparkrun::cli
