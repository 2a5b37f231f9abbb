// SPDX-License-Identifier: MIT
#include "cli/run_request.hpp"

#include "base/csv.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "base/time.hpp"
#include "profile/container_reader.hpp"
#include "profile/values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace sparkrun::cli {
namespace {

// Long enough for a test suite or a short training of somebody else.
constexpr std::chrono::minutes default_patience{30};

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

std::chrono::seconds parse_time(std::string_view option, const std::string& text,
                                std::chrono::seconds shortest) {
  constexpr std::chrono::days longest{24};
  const auto time = parse_duration(text);
  if (time && *time >= shortest && *time <= longest) return *time;
  fail(fmt::format("`{} {}` is not a time such as 90s, 30m or 2h, up to 24d", option,
                   printable(text)));
}

}  // namespace

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
  if (const auto limit = arguments.value("--timeout"))
    request.limit = parse_time("--timeout", *limit, std::chrono::seconds{1});
  if (arguments.has("--exclusive")) {
    const auto patience = arguments.value("--exclusive");
    request.exclusive = patience ? parse_time("--exclusive", *patience, std::chrono::seconds{0})
                                 : std::chrono::seconds{default_patience};
  }
  request.waits_until_ready = arguments.has("--wait");
  if (request.waits_until_ready)
    plan.container.push_back({.option = profile::find_by_key("detach"), .values = {"true"}});
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

}  // namespace sparkrun::cli
