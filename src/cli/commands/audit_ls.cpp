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
    {"--limit", "-n", Takes::value, "COUNT", "at most so many, newest first (0: all; default 30)"},
});

std::string end_of(const audit::Run& run) {
  if (run.state == audit::RunState::refused) return "refused: " + run.error;
  if (run.state != audit::RunState::ended) return std::string{audit::to_string(run.state)};
  std::string text = fmt::format("exit {}", run.exit.value_or(0));
  if (run.is_oom_killed) text += ", out of memory";
  return text;
}

std::string short_digest(const audit::Run& run) {
  const std::string& digest = run.index.empty() ? run.manifest : run.index;
  return digest.substr(0, digest.find(':') + 13);
}

int run(const Arguments& arguments, Context& context) {
  const auto limit = parse_number(arguments.value_or("--limit", "30"));
  if (!limit) {
    throw Error{"usage.bad_value", "--limit takes a whole number", {{"command", "audit ls"}}};
  }
  const sys::Environment& environment = context.system.environment;
  const auto ledgers =
      audit::find_ledgers(run::audit_root(context.settings, environment), context.system.clock);
  std::vector<audit::Run> runs = recorded_runs(ledgers, environment);
  const auto count = static_cast<size_t>(*limit);
  const size_t hidden = count != 0 && runs.size() > count ? runs.size() - count : 0;
  runs.erase(runs.end() - static_cast<long>(hidden), runs.end());

  if (context.output.json) {
    Json json = Json::array();
    for (const audit::Run& entry : runs) json.push_back(audit::to_json(entry));
    context.output.result_json(json);
    return 0;
  }
  std::vector<std::vector<std::string>> rows = {
      {"RUN", "STARTED", "PROFILE", "DIGEST", "VERDICT", "END", "TOOK"}};
  for (const audit::Run& entry : runs) {
    rows.push_back({entry.id, entry.time ? to_rfc3339(*entry.time).substr(0, 19) + "Z" : "?",
                    entry.profile, short_digest(entry), entry.verdict, end_of(entry),
                    entry.duration ? human_duration(*entry.duration) : ""});
  }
  if (runs.empty())
    context.output.note("no runs are recorded");
  else
    context.output.result(render_table(rows));
  if (hidden > 0)
    context.output.note(fmt::format("{} older runs are not shown; `--limit 0` shows all", hidden));
  return 0;
}

}  // namespace

extern const Command audit_ls_command{.name = "audit ls",
                                      .summary = "list recorded runs, newest first",
                                      .options = options,
                                      .run = run};

}  // namespace sparkrun::cli
