// SPDX-License-Identifier: MIT
#include "base/json_value.hpp"
#include "cli/running.hpp"

#include <array>

namespace sparkrun::cli {
namespace {

constexpr auto options = std::to_array<Option>({target_option});

// bash where the image has one.
std::vector<std::string> shell_words() {
  return {"sh", "-c", "command -v bash >/dev/null && exec bash; exec sh"};
}

int run(const Arguments& arguments, Context& context) {
  const run::Running running = find_running(context);
  const run::GoingRun& run = chosen_run(arguments, running);
  const sys::Terminal& terminal = context.system.terminal;
  std::vector<std::string> argv = run.engine->command();
  argv.emplace_back("exec");
  const bool is_interactive = terminal.in_is_usable;
  if (is_interactive)
    argv.emplace_back(terminal.in_is_terminal && terminal.out_is_terminal ? "-it" : "-i");
  argv.push_back(run.container.id);
  const std::vector<std::string> words =
      arguments.command().empty() ? shell_words() : arguments.command();
  argv.insert(argv.end(), words.begin(), words.end());
  run::Recorder recorder = open_recorder(context);
  recorder.append(audit::run_exec(run.run, words));
  for (const std::string& warning : recorder.warnings()) context.output.warning(warning);
  return run_in_front(*run.engine->start(argv, {}));
}

}  // namespace

extern const Command shell_command{
    .name = "shell",
    .summary = "join a run: a shell in its container, or a command",
    .options = options,
    .run = run,
    .description = "The ledger says that somebody joined. The exit status is the command's.",
    .takes_command = true};

}  // namespace sparkrun::cli
