// SPDX-License-Identifier: MIT
#include "base/json_value.hpp"
#include "base/text.hpp"
#include "base/time.hpp"
#include "cli/running.hpp"

#include <fmt/format.h>

#include <array>

namespace sparkrun::cli {
namespace {

constexpr auto options = std::to_array<Option>({
    {"--all", "-a", Takes::nothing, "", "also containers of runs that have ended and are kept"},
});

std::string age(const run::GoingRun& run, const sys::Clock& clock) {
  const auto started = run.started();
  if (!started || !run.container.is_running) return "-";
  return human_duration(
      std::chrono::duration_cast<std::chrono::milliseconds>(clock.now() - *started));
}

// Who will write down how it ends.
std::string_view keeper(const run::GoingRun& run) {
  if (!run.has_sparkrun()) return "nobody";
  return run.folder->note().is_detached ? "waiter" : "sparkrun";
}

int run(const Arguments& arguments, Context& context) {
  const run::Running running = find_running(context);
  Json json = Json::array();
  std::vector<std::vector<std::string>> rows = {
      {"RUN", "PROFILE", "CONTAINER", "DIGEST", "STATUS", "AGE", "KEPT BY"}};
  for (const run::GoingRun& run : running.runs) {
    if (!run.container.is_running && !arguments.has("--all")) continue;
    json.push_back({{"run", run.run},
                    {"profile", run.profile},
                    {"container", run.container.name},
                    {"container_id", run.container.id},
                    {"digest", run.digest},
                    {"engine", run.engine->name()},
                    {"status", run.container.status},
                    {"started", run.container.started},
                    {"kept_by", keeper(run)}});
    rows.push_back({run.run, run.profile, run.container.name, run.digest.substr(0, 19),
                    run.container.status, age(run, context.system.clock),
                    std::string{keeper(run)}});
  }
  if (context.output.json)
    context.output.result_json(json);
  else
    context.output.result(printable(render_table(rows)));
  for (const std::string& line : run::orphans(context.system, context.settings))
    context.output.note(line);
  return 0;
}

}  // namespace

extern const Command ps_command{
    .name = "ps",
    .summary = "list the runs that are going on",
    .options = options,
    .run = run,
    .description =
        "KEPT BY says who records the end: the sparkrun that started the run, the waiter of a run "
        "in\n"
        "the background, or nobody, where both were killed: `sparkrun stop RUN` ends such a run."};

}  // namespace sparkrun::cli
