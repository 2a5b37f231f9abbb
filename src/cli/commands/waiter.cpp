// SPDX-License-Identifier: MIT
#include "base/error.hpp"
#include "base/text.hpp"
#include "cli/running.hpp"
#include "run/background.hpp"

#include <array>

namespace sparkrun::cli {
namespace {

constexpr auto options = std::to_array<Option>({
    {"RUN", "", Takes::value, "", "the run's id", Values::run, {}, true},
});

int run(const Arguments& arguments, Context& context) {
  auto folder = run::RunFolder::find(context.system.environment, arguments.value_or("RUN", ""));
  if (!folder) throw Error{"run.none", "there is no such run"};
  const auto engine = engine::open(
      {.name = folder->note().engine, .command = folder->note().engine_command}, context.system);
  run::Recorder recorder = open_recorder(context);
  run::stay_with(*folder, *engine, recorder, context.system);
  for (const std::string& warning : recorder.warnings()) context.output.warning(warning);
  return 0;
}

}  // namespace

extern const Command waiter_command{.name = "__wait",
                                    .summary = "stay with a run in the background",
                                    .options = options,
                                    .run = run,
                                    .is_hidden = true};

}  // namespace sparkrun::cli
