// SPDX-License-Identifier: MIT
#include "audit/query.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "cli/running.hpp"

#include <fmt/format.h>

#include <array>

namespace sparkrun::cli {
namespace {

constexpr auto options = std::to_array<Option>({kept_target_option});

// How it ended, from the ledger: the waiter has written that by the time that it lets the folder
// go.
int recorded_exit(const std::string& run, Context& context) {
  const auto ledgers = audit::find_ledgers(
      run::audit_root(context.settings, context.system.environment), context.system.clock);
  const std::vector<audit::Run> runs = audit::list(ledgers);
  const audit::Run& found = audit::find_run(runs, run);
  if (found.exit) return *found.exit;
  throw Error{"run.none", fmt::format("how run {} ended nobody knows", run)};
}

int run(const Arguments& arguments, Context& context) {
  const std::string text = arguments.value_or("RUN", "");
  {
    const run::Running running = find_running(context);
    if (const run::GoingRun* const going = run::find_going(running, text, false)) {
      const std::string id = going->run;
      going->engine->wait(going->container.id, std::nullopt);
      if (auto folder = run::RunFolder::find(context.system.environment, id)) folder->hold();
      return recorded_exit(id, context);
    }
  }
  auto kept = find_kept_run(text, context.system.environment);
  if (!kept) throw Error{"run.none", "nothing that could be waited for is running"};
  kept->hold();  // its waiter may be about to write how it ended
  return recorded_exit(kept->note().run, context);
}

}  // namespace

extern const Command wait_command{
    .name = "wait",
    .summary = "wait until a run ends; its exit status is that of this command",
    .options = options,
    .run = run};

}  // namespace sparkrun::cli
