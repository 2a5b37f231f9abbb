// SPDX-License-Identifier: MIT
#include "base/digest.hpp"
#include "base/error.hpp"
#include "base/json_value.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/ensure_image.hpp"
#include "cli/preflight_text.hpp"
#include "cli/registry.hpp"
#include "cli/run_request.hpp"
#include "cli/running.hpp"
#include "plan/argv.hpp"
#include "run/background.hpp"
#include "run/check.hpp"
#include "run/close.hpp"
#include "run/exclusive.hpp"
#include "run/launch.hpp"
#include "run/prepare.hpp"
#include "run/readiness.hpp"
#include "run/recorder.hpp"
#include "run/running.hpp"
#include "run/shown_lints.hpp"
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
    {"--env-from-host", "", Takes::value, "NAME", "pass a variable of the host (`NAME?`: if set)"},
    {"--volume", "-v", Takes::value, "SRC:DST[:OPTIONS]", "mount a folder, a file or a volume"},
    {"--mount", "", Takes::value, "KEY=VALUE,..", "the same in docker's long form"},
    {"--here", "", Takes::nothing, "",
     "mount the working directory at its own path and start there"},
    {"--hf-cache", "", Takes::nothing, "", "mount your Hugging Face cache and set HF_HOME to it"},
    {"--gpus", "", Takes::value, "DEVICES", "which GPUs: all, device=0, 1; or none"},
    {"--arg", "", Takes::value, "WORD", "a word for the engine that no option here stands for"},
    {"--wait", "", Takes::nothing, "",
     "in the background, return when the job is ready ([ready] in its profile)"},
    {"--exclusive", "", Takes::maybe, "TIME",
     "wait until no other such run has the GPU, up to TIME (30m)"},
    {"--timeout", "", Takes::value, "TIME", "stop the job after 90s, 30m, 2h (exit 124)"},
    {"--tty", "", Takes::value, "WHEN", "give the job a terminal", Values::any,
     "auto|always|never"},
    {"--status-file", "", Takes::value, "FILE", "write how the run ended to FILE, as JSON",
     Values::file},
});

void apply_settings(const Arguments& arguments, config::Settings& settings) {
  if (arguments.has("--offline")) settings.set("offline", "true", "--offline");
  apply_registry_options(arguments, settings);
  if (arguments.has("--no-preflight")) settings.set("preflight", "false", "--no-preflight");
  if (const auto engine = arguments.value("--engine")) settings.set("engine", *engine, "--engine");
  if (const auto file = arguments.value("--status-file"))
    settings.set("status_file", *file, "--status-file");
}

void say(const run::Prepared& prepared, const std::vector<std::string>& lints, Output& output) {
  for (const std::string& note : prepared.notes) output.note(note);
  for (const std::string& warning : prepared.plan.warnings) output.warning(warning);
  for (const std::string& lint : lints) output.warning(lint);
  const size_t known = prepared.plan.lints.size() - lints.size();
  if (known > 0) {
    output.detail(fmt::format("{} known warnings of the profile: `sparkrun profile check {}`",
                              known, prepared.plan.profile.name));
  }
  output.detail(
      fmt::format("image: {} ({})", prepared.plan.image.run_as, prepared.plan.image.pin_note));
  output.detail(fmt::format("gpu: {} ({})", profile::to_string(prepared.plan.gpu.access),
                            prepared.plan.gpu.reason));
  if (!prepared.engine_note.empty()) output.detail("engine: " + prepared.engine_note);
}

void print_plan(const run::Prepared& prepared, Output& output) {
  const std::vector<std::string> argv = plan::run_argv(prepared.plan);
  if (!output.json) return output.result(shell_join(argv) + "\n");
  const plan::PinnedImage& image = prepared.plan.image;
  const plan::GpuChoice& gpu = prepared.plan.gpu;
  std::vector<std::string> warnings = prepared.plan.warnings;
  warnings.insert(warnings.end(), prepared.plan.lints.begin(), prepared.plan.lints.end());
  output.result_json(Json{{"argv", argv},
                          {"engine", prepared.plan.engine.name},
                          {"gpu",
                           {{"access", profile::to_string(gpu.access)},
                            {"devices", gpu.devices},
                            {"reason", gpu.reason}}},
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
                          {"warnings", warnings}});
}

// The phases of a real run, in their order. What each returns is shown and recorded before the next
// begins.
class RealRun {
 public:
  RealRun(const run::Request& request, const profile::Project& project, Context& context,
          engine::Engine& engine)
      : request_(request), project_(project), context_(context), engine_(engine) {}

  run::Closing execute() {
    look_after(context_);
    run::Prepared prepared =
        run::prepare(request_, project_, context_.system, context_.settings, engine_);
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
    say(prepared, run::take_new_lints(prepared, context_.system.environment), output);
    const bool is_checked = context_.settings.boolean("preflight").value_or(true);
    // Whoever waits for the GPU is judged by what the one before leaves.
    if (is_checked && !prepared.exclusive)
      show_if_blocked(run::check_before_pull(prepared), output);
    const run::EnsuredImage ensured = cli::ensure_image(prepared, request_.talk, engine_, context_);
    if (ensured.run_as != prepared.plan.image.run_as) {
      prepared.plan.image.run_as = ensured.run_as;
      if (Digest::is_valid(ensured.run_as)) prepared.plan.image.pin = "image-id";
    }
    std::optional<sys::SharedLock> claim;
    if (prepared.exclusive) claim = claim_gpu(prepared);
    if (is_checked) {
      report_ = run::check(prepared, ensured.image, engine_, context_.system);
      show_report(*report_, output);
    } else {
      output.note(fmt::format("not checked ({})", context_.settings.origin("preflight")));
    }
    const preflight::Report* const report = report_ ? &*report_ : nullptr;
    refuse_false_readiness(prepared);
    if (run::is_detached(prepared.plan)) {
      refuse_lost_status_file();
      if (!run::launch_in_background(prepared, ensured, report, engine_, claim ? &*claim : nullptr,
                                     recorder, context_.system))
        output.warning("the waiter did not start: nobody will record how this run ends");
      for (const std::string& warning : recorder.warnings()) output.warning(warning);
      return {.run = prepared.id, .ended = {}, .origin = {}, .is_in_background = true};
    }
    const run::Closing closing =
        run::launch_recorded(prepared, ensured, report, engine_, recorder, context_.system);
    for (const std::string& warning : closing.ended.warnings) output.warning(warning);
    for (const std::string& warning : recorder.warnings()) output.warning(warning);
    output.detail(fmt::format("run {}, audit head {}", prepared.id, recorder.head()));
    return closing;
  }

  // The waiter would have nobody to tell.
  void refuse_lost_status_file() {
    const sys::fs::path folder = sys::fs::path{request_.status_file}.parent_path();
    if (request_.status_file.empty() || sys::is_folder(folder)) return;
    throw Error{"file.unwritable",
                fmt::format("--status-file: there is no folder {}", folder.string()),
                {{"path", folder.string()}}};
  }

  // Whoever answers before the job is there would pass for the job.
  void refuse_false_readiness(const run::Prepared& prepared) {
    const auto& ready = prepared.plan.profile.ready;
    if (!ready || ready->http.empty() || !run::answers(ready->http, context_.system.http)) return;
    const std::string what =
        fmt::format("somebody answers at {} before the job is started", ready->http);
    if (request_.waits_until_ready) throw Error{"run.answered_already", what};
    context_.output.warning(what + ": whether the job is ready cannot be told");
  }

  sys::SharedLock claim_gpu(run::Prepared& prepared) {
    sys::System& system = context_.system;
    sys::SharedLock claim =
        run::claim_gpu(prepared, engine_, system, context_.settings,
                       [&](const std::string& line) { context_.output.note(line); });
    const auto available = [&] {
      return sys::read_host_facts(system.environment).memory_available_kib;
    };
    if (!run::settle_memory(system.clock, available))
      context_.output.warning("memory is still being given back by what ran before");
    prepared.host = sys::read_host_facts(system.environment);
    return claim;
  }

  const run::Request& request_;
  const profile::Project& project_;
  Context& context_;
  engine::Engine& engine_;
  std::optional<preflight::Report> report_;
};

int dry_run(const run::Request& request, const profile::Project& project, Context& context,
            engine::Engine& engine) {
  const run::Prepared prepared =
      run::prepare(request, project, context.system, context.settings, engine);
  say(prepared, prepared.plan.lints, context.output);
  print_plan(prepared, context.output);
  return 0;
}

// Absolute: the waiter of a run in the background works elsewhere.
std::string status_file_of(const Context& context) {
  const std::string path = context.settings.text("status_file");
  return path.empty() ? "" : (context.system.environment.working_directory / path).string();
}

// The job runs by now: an error here says so, and the status file is its waiter's.
void leave(const std::string& id, bool waits_until_ready, engine::Engine& engine,
           Context& context) {
  try {
    context.output.result(id + "\n");
    const auto folder = run::RunFolder::find(context.system.environment, id);
    if (folder && waits_until_ready) run::wait_until_ready(*folder, engine, context.system);
  } catch (const Error& error) {
    if (error.details().contains("run")) throw;
    Error::Details details = error.details();
    details["run"] = id;
    throw Error{error.id(),
                fmt::format("{}; run {} goes on: `sparkrun stop {}` ends it", error.what(), id, id),
                details, error.problems()};
  }
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
  run::Request request = to_request(arguments, context.system.environment);
  request.talk = registry_talk(context.output);
  const profile::Project project =
      profile::find_project(context.system.environment, context.directory);
  request.profile = run::find_profile(arguments.value_or("TARGET", ""), project, context.system,
                                      context.settings);
  const auto engine =
      engine::open(run::choose_engine(&request.profile, context.settings), context.system);
  if (request.is_dry_run) return dry_run(request, project, context, *engine);
  request.status_file = status_file_of(context);
  if (request.waits_until_ready && !request.profile.ready) {
    throw Error{"usage.bad_value",
                "--wait: the profile does not say how its job shows that it is ready ([ready])",
                {{"command", "run"}}};
  }
  const run::Closing closing = RealRun{request, project, context, *engine}.execute();
  if (closing.is_in_background) {
    leave(closing.run, request.waits_until_ready, *engine, context);
    return 0;
  }
  const run::StatusFile status{request.status_file};
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
  // It runs, or has run, in the background: its waiter writes how it ends.
  if (error.details().contains("run")) return shell_code;
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
