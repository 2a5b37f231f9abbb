// SPDX-License-Identifier: MIT
#include "base/json_value.hpp"
#include "base/text.hpp"
#include "base/time.hpp"
#include "cli/running.hpp"
#include "run/readiness.hpp"
#include "sys/cgroup.hpp"

#include <fmt/format.h>

#include <array>

namespace sparkrun::cli {
namespace {

constexpr auto options = std::to_array<Option>({
    {"--all", "-a", Takes::nothing, "",
     "also containers of runs that have ended, and what else has the GPU"},
});

std::string age(const run::GoingRun& run, const sys::Clock& clock) {
  const auto started = run.started();
  if (!started || !run.container.is_running) return "-";
  return human_duration(
      std::chrono::duration_cast<std::chrono::milliseconds>(clock.now() - *started));
}

// Who will write down how it ends.
std::string_view keeper(const run::GoingRun& run) {
  if (run.run.empty()) return "-";
  if (!run.folder) return "unknown";
  if (!run.has_sparkrun()) return "nobody";
  return run.folder->note().is_detached ? "waiter" : "sparkrun";
}

std::string human_memory(std::optional<long long> bytes) {
  constexpr double mib = 1 << 20, gib = 1 << 30;
  if (!bytes) return "-";
  const auto number = static_cast<double>(*bytes);
  return number < gib ? fmt::format("{:.0f} MiB", number / mib)
                      : fmt::format("{:.1f} GiB", number / gib);
}

// A word of the table; a column is never empty.
std::string cell(std::string_view text) { return text.empty() ? "-" : std::string{text}; }

void add(const run::GoingRun& run, const sys::Clock& clock, Json& json,
         std::vector<std::vector<std::string>>& rows) {
  const auto ready = run.folder ? run::ready_state(*run.folder) : run::ReadyState::not_asked;
  // The process ids of another host are not ours.
  const auto memory =
      run.engine->facts().is_remote ? std::nullopt : sys::group_memory(run.container.pid);
  json.push_back(
      {{"run", run.run.empty() ? Json() : Json(run.run)},
       {"profile", run.profile},
       {"container", run.container.name},
       {"container_id", run.container.id},
       {"digest", run.digest},
       {"engine", run.engine->name()},
       {"status", run.container.status},
       {"started", run.container.started},
       {"ready",
        ready == run::ReadyState::not_asked ? Json() : Json(ready == run::ReadyState::ready)},
       {"memory_bytes", memory ? Json(*memory) : Json()},
       {"kept_by", keeper(run)}});
  rows.push_back({cell(run.run), cell(run.profile), run.container.name,
                  cell(run.digest.substr(0, 19)), run.container.status,
                  std::string{run::to_string(ready)}, age(run, clock), human_memory(memory),
                  std::string{keeper(run)}});
}

int run(const Arguments& arguments, Context& context) {
  const bool wants_all = arguments.has("--all");
  look_after(context);
  const run::Running running = find_running(context);
  Json json = Json::array();
  std::vector<std::vector<std::string>> rows = {
      {"RUN", "PROFILE", "CONTAINER", "DIGEST", "STATUS", "READY", "AGE", "MEMORY", "KEPT BY"}};
  for (const run::GoingRun& run : running.runs) {
    if (run.container.is_running || wants_all) add(run, context.system.clock, json, rows);
  }
  if (wants_all) {
    for (const run::GoingRun& run : run::foreign_containers(running))
      add(run, context.system.clock, json, rows);
  }
  context.output.result(json, printable(render_table(rows)));
  return 0;
}

}  // namespace

extern const Command ps_command{
    .name = "ps",
    .summary = "list the runs that are going on",
    .options = options,
    .run = run,
    .description =
        "READY: what [ready] of the profile asks for has been seen (yes), not yet (no), not within "
        "its\n"
        "time (late). MEMORY: what the container's processes use, as `docker stats` counts it. "
        "KEPT "
        "BY\n"
        "says who records the end: the sparkrun that started the run, the waiter of a run in the\n"
        "background, nobody, where sparkrun was killed (`sparkrun stop RUN` ends such a run), or "
        "unknown:\n"
        "another user's, say. With --all, containers without a RUN are not sparkrun's and have the "
        "GPU."};

}  // namespace sparkrun::cli
