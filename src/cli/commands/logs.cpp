// SPDX-License-Identifier: MIT
#include "base/error.hpp"
#include "base/text.hpp"
#include "cli/running.hpp"
#include "run/background.hpp"
#include "sys/files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

namespace sparkrun::cli {
namespace {

constexpr auto options = std::to_array<Option>({
    kept_target_option,
    {"--follow", "-f", Takes::nothing, "", "stay, and print what comes"},
    {"--tail", "-n", Takes::value, "N", "only the last N lines"},
});

// `--tail all` is docker's word for no limit.
std::optional<size_t> tail_lines(const Arguments& arguments) {
  const auto typed = arguments.value("--tail");
  if (!typed || *typed == "all") return std::nullopt;
  if (const auto lines = parse_number(*typed)) return static_cast<size_t>(*lines);
  throw Error{"usage.bad_value",
              fmt::format("--tail is a number of lines, not `{}`", printable(*typed)),
              {{"command", "logs"}}};
}

std::string_view last_lines(std::string_view text, size_t lines) {
  size_t at = text.size();
  if (text.ends_with('\n')) --at;
  for (; lines > 0 && at != std::string_view::npos; --lines)
    at = at == 0 ? std::string_view::npos : text.rfind('\n', at - 1);
  return at == std::string_view::npos ? text : text.substr(std::min(at + 1, text.size()));
}

std::vector<std::string> engine_words(const Arguments& arguments, const run::GoingRun& run) {
  std::vector<std::string> argv = run.engine->command();
  argv.emplace_back("logs");
  if (arguments.has("--follow")) argv.emplace_back("--follow");
  if (const auto lines = arguments.value("--tail")) argv.insert(argv.end(), {"--tail", *lines});
  argv.push_back(run.container.id);
  return argv;
}

int run(const Arguments& arguments, Context& context) {
  const std::optional<size_t> lines = tail_lines(arguments);
  const run::Running running = find_running(context);
  const std::string text = kept_target_text(arguments, running, context.system.environment);
  if (const run::GoingRun* const going = run::find_going(running, text, true)) {
    const bool is_being_saved = !going->container.is_running && going->folder &&
                                going->folder->note().removes && going->has_sparkrun();
    if (!is_being_saved)
      return run_in_front(*going->engine->start(engine_words(arguments, *going), {}));
    run::await_keeper(*going->folder, context.system);
  }
  // Its container is gone; what it printed was saved.
  const auto kept = find_kept_run(text, context.system.environment);
  const auto log = kept ? sys::read_file(kept->log()) : std::nullopt;
  if (!log) {
    throw Error{"run.none", text.empty() ? "nothing is running, and nothing that ended is kept"
                                         : fmt::format("nothing that was printed by `{}` is kept",
                                                       printable(text))};
  }
  context.output.result(lines ? last_lines(*log, *lines) : *log);
  return 0;
}

}  // namespace

extern const Command logs_command{
    .name = "logs",
    .summary = "print what a run has printed",
    .options = options,
    .run = run,
    .description = "Of a run in the background also after its end, when its container is gone."};

}  // namespace sparkrun::cli
