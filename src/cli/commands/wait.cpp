// SPDX-License-Identifier: MIT
#include "audit/query.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "cli/running.hpp"
#include "run/background.hpp"

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
  look_after(context);
  std::string id;
  {
    const run::Running running = find_running(context);
    const std::string text = kept_target_text(arguments, running, context.system.environment);
    if (const run::GoingRun* const going = run::find_going(running, text, false)) {
      id = going->run;
      going->engine->wait(going->container.id, std::nullopt);
    } else if (const auto kept = find_kept_run(text, context.system.environment)) {
      id = kept->note().run;
    } else {
      throw Error{"run.none", "nothing that could be waited for is running"};
    }
  }
  // Whoever stays with it may be about to write how it ended.
  if (const auto folder = run::RunFolder::find(context.system.environment, id))
    run::await_keeper(*folder, context.system);
  return recorded_exit(id, context);
}

}  // namespace

extern const Command wait_command{
    .name = "wait",
    .summary = "wait until a run ends; its exit status is that of this command",
    .options = options,
    .run = run};

}  // namespace sparkrun::cli
