// SPDX-License-Identifier: MIT
#include "base/error.hpp"
#include "base/json_value.hpp"
#include "base/text.hpp"
#include "cli/running.hpp"
#include "run/background.hpp"
#include "sys/files.hpp"

#include <fmt/format.h>

#include <array>

namespace sparkrun::cli {
namespace {

constexpr auto options = std::to_array<Option>({
    target_option,
    {"--all", "", Takes::nothing, "", "every run of yours that is going on"},
    {"--time", "-t", Takes::value, "SECONDS", "how long the job may take to end (10)"},
});

std::chrono::seconds grace_of(const Arguments& arguments) {
  constexpr long long seconds_max = 86400;
  const std::string typed = arguments.value_or("--time", "10");
  const auto seconds = parse_number(typed);
  if (seconds && *seconds <= seconds_max) return std::chrono::seconds{*seconds};
  throw Error{"usage.bad_value",
              fmt::format("--time is a number of seconds up to {}, not `{}`", seconds_max,
                          printable(typed)),
              {{"command", "stop"}}};
}

// A run that has ended and that nobody recorded: its waiter was killed, or its sparkrun was, before
// the job began.
bool is_unrecorded(const run::GoingRun& run) {
  return run.folder && !run.has_sparkrun() && !run.folder->has_ended();
}

const run::GoingRun& run_to_stop(const Arguments& arguments, const run::Running& running) {
  const run::GoingRun* const found =
      run::find_going(running, target_text(arguments), /*includes_ended=*/true);
  if (found != nullptr && !found->container.is_running && is_unrecorded(*found)) return *found;
  return chosen_run(arguments, running);
}

// A run that somebody stays with is recorded by whom that is; else here.
void stop(const run::GoingRun& run, std::chrono::seconds grace, run::Recorder& recorder,
          sys::System& system) {
  auto folder = run::RunFolder::find(system.environment, run.run);
  const bool is_kept = folder && !folder->try_hold();  // held until the end is recorded
  run.engine->stop(run.container.id, grace);
  if (!folder) return;
  if (is_kept) return run::await_keeper(*folder, system);
  run::close_from_engine(*folder, *run.engine, recorder, system);
  if (!folder->note().is_detached) folder->remove();
}

int run(const Arguments& arguments, Context& context) {
  const std::chrono::seconds grace = grace_of(arguments);
  if (arguments.has("--all") && arguments.has("RUN")) {
    throw Error{
        "usage.bad_value", "--all is every run: name none beside it", {{"command", "stop"}}};
  }
  const run::Running running = find_running(context);
  std::vector<const run::GoingRun*> chosen;
  if (arguments.has("--all")) {
    chosen = running.now();
    // What is known of here: other users' runs are theirs.
    std::erase_if(chosen, [](const run::GoingRun* run) { return !run->folder; });
  } else {
    chosen = {&run_to_stop(arguments, running)};
  }
  run::Recorder recorder = open_recorder(context);
  Json json = Json::array();
  for (const run::GoingRun* run : chosen) {
    stop(*run, grace, recorder, context.system);
    json.push_back({{"run", run->run}, {"container", run->container.name}});
    if (!context.output.json) context.output.result(fmt::format("{}: stopped\n", run->run));
  }
  for (const std::string& warning : recorder.warnings()) context.output.warning(warning);
  if (context.output.json) context.output.result_json(json);
  return 0;
}

}  // namespace

extern const Command stop_command{
    .name = "stop",
    .summary = "end a run: SIGTERM, and SIGKILL when that did not help",
    .options = options,
    .run = run};

}  // namespace sparkrun::cli
