// SPDX-License-Identifier: MIT
#include "base/csv.hpp"
#include "base/digest.hpp"
#include "base/error.hpp"
#include "base/json_value.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/ensure_image.hpp"
#include "cli/preflight_text.hpp"
#include "cli/registry.hpp"
#include "plan/argv.hpp"
#include "profile/container_reader.hpp"
#include "profile/values.hpp"
#include "run/background.hpp"
#include "run/check.hpp"
#include "run/close.hpp"
#include "run/launch.hpp"
#include "run/prepare.hpp"
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
    {"--timeout", "", Takes::value, "TIME", "stop the job after 90s, 30m, 2h (exit 124)"},
    {"--tty", "", Takes::value, "WHEN", "give the job a terminal", Values::any,
     "auto|always|never"},
    {"--status-file", "", Takes::value, "FILE", "write how the run ended to FILE, as JSON",
     Values::file},
});

plan::TtyMode tty_mode(const std::string& text) {
  if (text == "always") return plan::TtyMode::always;
  return text == "never" ? plan::TtyMode::never : plan::TtyMode::automatic;
}

[[noreturn]] void fail(const std::string& message) {
  throw Error{"usage.bad_value", message, {{"command", "run"}}};
}

profile::Mount parse_volume(const std::string& text) {
  const auto parts = split(text, ':');
  if (parts.size() < 2 || parts.size() > 3 || parts[0].empty() || !parts[1].starts_with('/')) {
    fail(fmt::format("`--volume {}` is not SOURCE:/TARGET or SOURCE:/TARGET:OPTIONS",
                     printable(text)));
  }
  profile::Mount mount{.source = std::string{parts[0]}, .target = std::string{parts[1]}};
  for (const std::string_view option :
       parts.size() == 3 ? split(parts[2], ',') : std::vector<std::string_view>{}) {
    if (option == "ro")
      mount.read_only = true;
    else if (option != "rw")
      mount.options.emplace_back(option);
  }
  return mount;
}

// A bind mount or a volume that is no more than that; nothing for what docker alone can read.
std::optional<profile::Mount> parse_mount(const std::string& text) {
  const auto fields = parse_csv_record(text);
  if (!fields) fail(fmt::format("`--mount {}` is not one line of KEY=VALUE,..", printable(text)));
  profile::Mount mount;
  for (const std::string& field : *fields) {
    const auto [key, value] = split_once(field, '=');
    if (key == "type" && (value == "bind" || value == "volume"))
      continue;
    else if (key == "source" || key == "src")
      mount.source = value;
    else if (key == "target" || key == "dst" || key == "destination")
      mount.target = value;
    else if ((key == "readonly" || key == "ro") && (value.empty() || value == "true"))
      mount.read_only = true;
    else
      return std::nullopt;
  }
  if (mount.source.empty() || !mount.target.starts_with('/')) return std::nullopt;
  return mount;
}

profile::HostVariable parse_host_variable(std::string name) {
  const bool is_optional = name.ends_with('?');
  if (is_optional) name.pop_back();
  if (!profile::is_variable_name(name)) {
    fail(fmt::format("`{}` is not the name of a variable", printable(name)));
  }
  return {.name = name, .is_required = !is_optional};
}

// `--gpus` and `--runtime` choose the way to the GPU as they do for docker.
void choose_gpu(const Arguments& arguments, plan::RunOptions& plan) {
  using profile::GpuAccess;
  const profile::Option* const flag = profile::find_by_key("runtime");
  const auto devices = arguments.value("--gpus");
  const bool wants_none = devices == "none";
  if (devices && !wants_none) plan.gpu_devices = *devices;
  if (wants_none) plan.gpu_access = GpuAccess::none;
  std::string runtime;  // the last one, as for docker
  std::erase_if(plan.container, [&](const profile::OptionValue& value) {
    if (value.option == flag) runtime = value.values.front();
    return value.option == flag;
  });
  const auto access = arguments.value("--gpu-access");
  const bool has_own_runtime = access && access->starts_with("runtime");
  if (access && ((wants_none && *access != "none") || runtime == "nvidia" ||
                 (!runtime.empty() && (has_own_runtime || *access == "auto")))) {
    fail(fmt::format("`--gpu-access {}` contradicts {}", *access,
                     wants_none ? "`--gpus none`" : "`--runtime " + printable(runtime) + "`"));
  }
  if (runtime == "nvidia") {
    if (wants_none) fail("`--runtime nvidia` brings a GPU, and `--gpus none` wants none");
    plan.gpu_access = devices ? GpuAccess::runtime_and_gpus : GpuAccess::runtime;
  } else if (!runtime.empty()) {
    if (!devices && !access)
      fail(
          fmt::format("`--runtime {}` takes the place of nvidia's: say how the job reaches the GPU "
                      "(--gpus all, --gpus none, or --gpu-access)",
                      printable(runtime)));
    if (!wants_none) plan.gpu_access = GpuAccess::gpus;
    plan.container.push_back({.option = flag, .values = {runtime}});
  }
  if (access) plan.gpu_access = profile::parse_gpu_access(*access);
}

// Files that are named on the command line are looked for where the command line was typed.
void resolve_env_files(plan::RunOptions& plan, const sys::Environment& environment) {
  for (profile::OptionValue& value : plan.container) {
    if (value.option->flag != "--env-file") continue;
    for (std::string& file : value.values) file = (environment.working_directory / file).string();
  }
}

// `90`, `90s`, `30m`, `2h`, `7d`.
std::chrono::seconds parse_limit(const std::string& text) {
  constexpr std::string_view units = "smhd";
  constexpr std::array<long long, 4> seconds = {1, 60, 3600, 86400};
  constexpr long long limit_max = 24 * 86400;
  const size_t unit = text.empty() ? std::string_view::npos : units.find(text.back());
  const bool has_unit = unit != std::string_view::npos;
  const auto number =
      parse_number(std::string_view{text}.substr(0, text.size() - (has_unit ? 1 : 0)));
  const long long factor = has_unit ? seconds.at(unit) : 1;
  if (number && *number > 0 && *number <= limit_max / factor) {
    return std::chrono::seconds{*number * factor};
  }
  fail(fmt::format("`--timeout {}` is not a time such as 90s, 30m or 2h, up to 24d",
                   printable(text)));
}

run::Request to_request(const Arguments& arguments, const sys::Environment& environment) {
  run::Request request;
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
  plan.extra_args = arguments.values("--arg");
  for (const std::string& fault : profile::faults_of_words(plan.extra_args))
    fail("--arg: " + printable(fault));
  for (const std::string& text : arguments.values("--mount")) {
    if (auto mount = parse_mount(text))
      plan.mounts.push_back(std::move(*mount));
    else
      plan.extra_args.push_back("--mount=" + text);
  }
  if (const auto limit = arguments.value("--timeout")) request.limit = parse_limit(*limit);
  plan.mounts_working_directory = arguments.has("--here");
  if (plan.mounts_working_directory && environment.working_directory == "/")
    fail("`--here`: the root folder cannot be mounted at its own place");
  plan.mounts_hf_cache = arguments.has("--hf-cache");
  choose_gpu(arguments, plan);
  resolve_env_files(plan, environment);
  for (const std::string& name : arguments.values("--env-from-host"))
    plan.env_from_host.push_back(parse_host_variable(name));
  for (const std::string& volume : arguments.values("--volume"))
    plan.mounts.push_back(parse_volume(volume));
  for (const std::string& entry : arguments.values("--env")) {
    const auto [name, value] = split_once(entry, '=');
    if (!profile::is_plain_name(name))
      fail(fmt::format("`--env {}`: that is not the name of a variable", printable(name)));
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
    name_orphans();
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
  // Runs that were left without a sparkrun are said by the next one.
  void name_orphans() {
    try {
      for (const std::string& line : run::orphans(context_.system, context_.settings))
        context_.output.note(line);
    } catch (const Error& error) {
      if (error.exit_code() == ExitCode::interrupted) throw;
    }
  }

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
    if (is_checked) show_if_blocked(run::check_before_pull(prepared), output);
    const run::EnsuredImage ensured = cli::ensure_image(prepared, request_.talk, engine_, context_);
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
    const preflight::Report* const report = report_ ? &*report_ : nullptr;
    if (run::is_detached(prepared.plan)) {
      if (!run::launch_in_background(prepared, ensured, report, engine_, recorder, context_.system))
        output.warning("the waiter did not start: nobody will record how this run ends");
      for (const std::string& warning : recorder.warnings()) output.warning(warning);
      output.result(prepared.id + "\n");
      return {.run = prepared.id, .ended = {}, .origin = "sparkrun"};
    }
    const run::Closing closing =
        run::launch_recorded(prepared, ensured, report, engine_, recorder, context_.system);
    for (const std::string& warning : closing.ended.warnings) output.warning(warning);
    for (const std::string& warning : recorder.warnings()) output.warning(warning);
    output.detail(fmt::format("run {}, audit head {}", prepared.id, recorder.head()));
    return closing;
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
  const run::Closing closing = RealRun{request, project, context, *engine}.execute();
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
