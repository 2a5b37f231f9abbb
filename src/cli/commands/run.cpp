// SPDX-License-Identifier: MIT
#include "base/digest.hpp"
#include "base/error.hpp"
#include "base/json_value.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/preflight_text.hpp"
#include "cli/registry.hpp"
#include "plan/argv/docker.hpp"
#include "run/check.hpp"
#include "run/close.hpp"
#include "run/ensure_image.hpp"
#include "run/launch.hpp"
#include "run/prepare.hpp"
#include "run/pull_failure.hpp"
#include "run/recorder.hpp"
#include "sys/files.hpp"

#include <fmt/format.h>

#include <array>
#include <functional>

namespace sparkrun::cli {
namespace {

constexpr auto options = std::to_array<Option>({
    {"TARGET", "", Takes::value, "", "a profile, or an image (an argument with `/`, `:` or `@`)",
     Values::profile},
    {"--dry-run", "", Takes::nothing, "", "print the command and start nothing"},
    {"--platform", "", Takes::value, "PLATFORM", "run that platform's build"},
    {"--locked", "", Takes::nothing, "",
     "run only what a current lock pins (default where CI is set)"},
    {"--no-locked", "", Takes::nothing, "", "a pin that is only remembered will do"},
    {"--latest", "", Takes::nothing, "", "ask the registry what the tag points at now"},
    {"--offline", "", Takes::nothing, "", "send no packet to a registry"},
    cacert_option,
    {"--no-preflight", "", Takes::nothing, "", "start without the checks (recorded)"},
    {"--allow", "", Takes::value, "NAME",
     "let a project profile use that trust (see `explain trust`)"},
    {"--gpu-access", "", Takes::value, "HOW", "how the job reaches the GPU", Values::any,
     "auto|runtime+gpus|runtime|gpus|cdi|none"},
    {"--engine", "", Takes::value, "NAME", "the container engine", Values::any, "docker|podman"},
    {"--env", "-e", Takes::value, "NAME[=VALUE]",
     "set a variable; without a value the host's is passed"},
    {"--volume", "-v", Takes::value, "SRC:DST[:ro]", "mount a folder or file of the host"},
    {"--tty", "", Takes::value, "WHEN", "give the job a terminal", Values::any,
     "auto|always|never"},
    {"--status-file", "", Takes::value, "FILE", "write how the run ended to FILE, as JSON",
     Values::file},
});

plan::TtyMode tty_mode(const std::string& text) {
  if (text == "always") return plan::TtyMode::always;
  return text == "never" ? plan::TtyMode::never : plan::TtyMode::automatic;
}

profile::Mount parse_volume(const std::string& text) {
  const auto parts = split(text, ':');
  const bool has_mode = parts.size() == 3 && (parts[2] == "ro" || parts[2] == "rw");
  if (parts.size() < 2 || (parts.size() > 2 && !has_mode) || parts[0].empty() ||
      !parts[1].starts_with('/')) {
    throw Error{
        "usage.bad_value",
        fmt::format("`--volume {}` is not SOURCE:/TARGET or SOURCE:/TARGET:ro", printable(text)),
        {{"command", "run"}}};
  }
  return {.source = std::string{parts[0]},
          .target = std::string{parts[1]},
          .read_only = has_mode && parts[2] == "ro"};
}

run::Request to_request(const Arguments& arguments) {
  run::Request request{.target = arguments.value_or("TARGET", "")};
  request.platform = arguments.value_or("--platform", "");
  if (arguments.has("--no-locked")) request.locked = false;
  if (arguments.has("--locked")) request.locked = true;
  request.latest = arguments.has("--latest");
  request.allow = arguments.values("--allow");
  request.is_dry_run = arguments.has("--dry-run");
  plan::RunOptions& plan = request.options;
  plan.tty = tty_mode(arguments.value_or("--tty", "auto"));
  plan.command = arguments.command();
  plan.container = arguments.engine_flags();
  if (const auto access = arguments.value("--gpu-access"))
    plan.gpu_access = profile::parse_gpu_access(*access);
  for (const std::string& volume : arguments.values("--volume"))
    plan.mounts.push_back(parse_volume(volume));
  for (const std::string& entry : arguments.values("--env")) {
    const auto [name, value] = split_once(entry, '=');
    if (name.size() == entry.size())
      plan.env_from_host.push_back({.name = entry, .is_required = true});
    else
      plan.env.emplace_back(name, value);
  }
  return request;
}

void apply_settings(const Arguments& arguments, config::Settings& settings) {
  if (arguments.has("--offline")) settings.set("offline", "true", "--offline");
  apply_registry_options(arguments, settings);
  if (arguments.has("--no-preflight")) settings.set("preflight", "false", "--no-preflight");
  if (const auto engine = arguments.value("--engine")) settings.set("engine", *engine, "--engine");
  if (const auto file = arguments.value("--status-file"))
    settings.set("status_file", *file, "--status-file");
}

void say(const run::Prepared& prepared, Output& output) {
  for (const std::string& note : prepared.notes) output.note(note);
  for (const std::string& warning : prepared.plan.warnings) output.warning(warning);
  output.detail(
      fmt::format("image: {} ({})", prepared.plan.image.run_as, prepared.plan.image.pin_note));
  output.detail(fmt::format("gpu: {} ({})", profile::to_string(prepared.plan.gpu.access),
                            prepared.plan.gpu.reason));
  if (!prepared.engine_note.empty()) output.detail("engine: " + prepared.engine_note);
}

void print_plan(const run::Prepared& prepared, Output& output) {
  const std::vector<std::string> argv = plan::docker_argv(prepared.plan);
  if (!output.json) return output.result(shell_join(argv) + "\n");
  const plan::PinnedImage& image = prepared.plan.image;
  output.result_json(Json{{"argv", argv},
                          {"image",
                           {{"reference", image.reference},
                            {"run_as", image.run_as},
                            {"index", image.index},
                            {"manifest", image.manifest},
                            {"config", image.config},
                            {"chain", image.chain},
                            {"platform", image.platform},
                            {"pin", image.pin},
                            {"taken", image.taken},
                            {"taken_because", image.taken_because}}},
                          {"warnings", prepared.plan.warnings}});
}

// The phases of a real run, in their order. What each returns is shown and recorded before the next
// begins.
class RealRun {
 public:
  RealRun(const run::Request& request, Context& context, engine::Engine& engine)
      : request_(request), context_(context), engine_(engine) {}

  run::Closing execute() {
    const profile::Project project =
        profile::find_project(context_.system.environment, context_.directory);
    run::Prepared prepared =
        run::prepare(request_, project, context_.system, context_.settings, engine_);
    run::Recorder recorder{context_.settings, context_.system, prepared.host.id};
    try {
      return launch(prepared, recorder);
    } catch (const Error& error) {
      run::record_refusal(prepared, error, report_, recorder, context_.system);
      for (const std::string& warning : recorder.warnings()) context_.output.warning(warning);
      throw;
    }
  }

 private:
  // What already blocks now is said before 10 GB are pulled for nothing.
  void show_if_blocked(const preflight::Report& report, Output& output) {
    if (!report.is_blocked()) return;
    report_ = report;
    show_report(report, output);
  }

  run::Closing launch(run::Prepared& prepared, run::Recorder& recorder) {
    Output& output = context_.output;
    say(prepared, output);
    const bool is_checked = context_.settings.boolean("preflight").value_or(true);
    if (is_checked) show_if_blocked(run::check_before_pull(prepared), output);
    const bool is_offline = context_.settings.boolean("offline").value_or(false);
    const run::EnsuredImage ensured = run::with_pull_explained(
        prepared.plan.image, {context_.system, context_.settings, request_.talk}, [&] {
          return run::ensure_image(prepared.plan.image, engine_, is_offline,
                                   output.terminal().err_is_terminal && !output.quiet);
        });
    if (ensured.run_as != prepared.plan.image.run_as) {
      prepared.plan.image.run_as = ensured.run_as;
      if (Digest::is_valid(ensured.run_as)) prepared.plan.image.pin = "image-id";
    }
    if (is_checked) {
      report_ = run::check(prepared, ensured.image, engine_, context_.system.clock);
      show_report(*report_, output);
    } else {
      output.note(fmt::format("not checked ({})", context_.settings.origin("preflight")));
    }
    const run::Closing closing = run::launch_recorded(
        prepared, ensured, report_ ? &*report_ : nullptr, engine_, recorder, context_.system);
    for (const std::string& warning : closing.ended.warnings) output.warning(warning);
    for (const std::string& warning : recorder.warnings()) output.warning(warning);
    output.detail(fmt::format("run {}, audit head {}", prepared.id, recorder.head()));
    return closing;
  }

  const run::Request& request_;
  Context& context_;
  engine::Engine& engine_;
  std::optional<preflight::Report> report_;
};

int dry_run(const run::Request& request, Context& context, engine::Engine& engine) {
  const profile::Project project =
      profile::find_project(context.system.environment, context.directory);
  const run::Prepared prepared =
      run::prepare(request, project, context.system, context.settings, engine);
  say(prepared, context.output);
  print_plan(prepared, context.output);
  return 0;
}

// How the run ended must not be hidden by a status file that cannot be written.
void or_warn(const std::function<void()>& write_status, Output& output) {
  try {
    write_status();
  } catch (const Error& error) {
    output.warning(error.what());
  }
}

int run(const Arguments& arguments, Context& context) {
  apply_settings(arguments, context.settings);
  run::Request request = to_request(arguments);
  request.talk = registry_talk(context.output);
  const auto engine = engine::open(context.settings.text("engine"), context.system);
  if (request.is_dry_run) return dry_run(request, context, *engine);
  const run::Closing closing = RealRun{request, context, *engine}.execute();
  const run::StatusFile status{context.settings.text("status_file")};
  or_warn([&] { status.write(closing); }, context.output);
  return closing.ended.exit;
}

// The settings may be what is wrong, so the file is looked for without them where they cannot be
// read.
std::string status_file(const Arguments& arguments, const sys::System& system) {
  if (const auto given = arguments.value("--status-file")) return *given;
  try {
    return config::Settings::load(system.environment).text("status_file");
  } catch (const Error&) {
    return system.environment.get_or("SPARKRUN_STATUS_FILE", "");
  }
}

// The codes below 100 belong to the container, so ours are moved out of its way; an interrupt stays
// 130.
int refuse(const Arguments& arguments, const sys::System& system, const Error& error,
           Output& output) {
  const int code = static_cast<int>(error.exit_code());
  if (arguments.has("--dry-run")) return code;
  const int shell_code = error.exit_code() == ExitCode::interrupted ? code : 100 + code;
  const run::StatusFile status{status_file(arguments, system)};
  or_warn([&] { status.write_refusal(error, shell_code); }, output);
  return shell_code;
}

}  // namespace

extern const Command run_command{
    .name = "run",
    .summary = "launch a pinned, checked, recorded container",
    .options = options,
    .run = run,
    .description =
        "Options end at the first word after TARGET; that word and all that follow are the "
        "container's\n"
        "command. The container's exit status is passed through; sparkrun's own refusals are 100 "
        "plus\n"
        "the code of the table. `--dry-run` prints the command so that pasting it runs the same.",
    .refuse = refuse,
    .takes_command = true,
    .takes_engine_flags = true};

}  // namespace sparkrun::cli
