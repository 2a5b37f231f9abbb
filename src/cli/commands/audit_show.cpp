// SPDX-License-Identifier: MIT
#include "audit/query.hpp"
#include "base/json_value.hpp"
#include "base/text.hpp"
#include "base/time.hpp"
#include "cli/running.hpp"
#include "run/recorder.hpp"

#include <fmt/format.h>

#include <array>

namespace sparkrun::cli {
namespace {

constexpr auto options = std::to_array<Option>({
    {"RUN",
     "",
     Takes::value,
     "",
     "a run's id, the start of it, or ^1 for the last one",
     Values::run,
     {},
     true},
});

std::string state_text(const audit::Run& run) {
  std::string text{audit::to_string(run.state)};
  if (run.exit) text += fmt::format(", exit {}", *run.exit);
  if (run.is_oom_killed) text += ", out of memory";
  if (!run.error.empty()) text += fmt::format(" ({}: {})", run.error, run.message);
  if (run.duration) text += ", after " + human_duration(*run.duration);
  return text;
}

std::string to_text(const audit::Run& run) {
  std::vector<std::vector<std::string>> rows;
  const auto row = [&](std::string name, const std::string& value) {
    if (!value.empty()) rows.push_back({std::move(name), value});
  };
  row("run", run.id);
  row("state", state_text(run));
  row("started", run.time ? to_rfc3339(*run.time) : "");
  row("profile", run.profile);
  row("image", run.reference);
  row("pin", run.pin);
  row("index", run.index);
  row("manifest", run.manifest);
  row("config", run.config);
  row("chain", run.chain);
  row("platform", run.platform);
  row("preflight", run.verdict);
  row("host", run.host);
  row("user", run.user);
  row("commit", run.commit);
  row("container", run.container);
  row("command", shell_join(run.argv));
  return render_table(rows);
}

int run(const Arguments& arguments, Context& context) {
  const sys::Environment& environment = context.system.environment;
  const auto ledgers =
      audit::find_ledgers(run::audit_root(context.settings, environment), context.system.clock);
  const std::vector<audit::Run> runs = recorded_runs(ledgers, environment);
  const audit::Run& found = audit::find_run(runs, arguments.value_or("RUN", ""));
  if (context.output.json) {
    Json json = audit::to_json(found);
    json["events"] = audit::events_of(ledgers, found.id);
    context.output.result_json(json);
  } else {
    context.output.result(to_text(found));
  }
  return 0;
}

}  // namespace

extern const Command audit_show_command{.name = "audit show",
                                        .summary = "show what is recorded of a run",
                                        .options = options,
                                        .run = run};

}  // namespace sparkrun::cli
