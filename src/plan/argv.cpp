// SPDX-License-Identifier: MIT
#include "plan/argv.hpp"

#include "base/csv.hpp"
#include "base/text.hpp"
#include "plan/gpu_access.hpp"
#include "profile/words.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sparkrun::plan {
namespace {

using profile::Arity;
using profile::GpuAccess;
using profile::OptionValue;

using Argv = std::vector<std::string>;

void append(Argv& argv, std::initializer_list<std::string> words) {
  argv.insert(argv.end(), words);
}

void append_gpu(Argv& argv, const GpuChoice& gpu) {
  const bool has_runtime =
      gpu.access == GpuAccess::runtime || gpu.access == GpuAccess::runtime_and_gpus;
  if (has_runtime) append(argv, {"--runtime=nvidia"});
  if (gpu.access == GpuAccess::gpus || gpu.access == GpuAccess::runtime_and_gpus) {
    append(argv, {"--gpus", gpus_value(gpu.devices)});
  }
  if (gpu.access == GpuAccess::cdi) {
    for (const std::string& device : device_names(gpu.devices)) {
      append(argv, {"--device", "nvidia.com/gpu=" + device});
    }
  }
}

// The client's own words. sudo drops the environment, and with it what is passed by name.
Argv client_words(const RunPlan& plan) {
  Argv argv = plan.engine.command;
  std::vector<std::string> names = plan.host_variables;
  for (const auto& [name, path] : plan.file_variables) names.push_back(name);
  const bool is_sudo = argv.front() == "sudo" || argv.front().ends_with("/sudo");
  if (is_sudo && !names.empty()) {
    argv.insert(argv.begin() + 1, "--preserve-env=" + join(names, ","));
  }
  argv.emplace_back("run");
  return argv;
}

// The runtime alone learns from this variable which devices are wanted; what the plan sets goes
// first.
void append_visible_devices(Argv& argv, const RunPlan& plan) {
  constexpr std::string_view variable = "NVIDIA_VISIBLE_DEVICES";
  if (plan.gpu.access != GpuAccess::runtime || plan.gpu.devices.empty()) return;
  if (plan.has_variable(variable)) return;
  append(argv,
         {"-e", fmt::format("{}={}", variable, fmt::join(device_names(plan.gpu.devices), ","))});
}

void append_option(Argv& argv, const OptionValue& value) {
  const std::string flag{value.option->flag};
  switch (value.option->arity) {
    case Arity::flag:
      argv.push_back(value.values.empty() ? flag : flag + "=" + value.values.front());
      break;
    case Arity::value:
      argv.push_back(flag + "=" + value.values.front());
      break;
    case Arity::list:
    case Arity::table:
      for (const std::string& item : value.values) append(argv, {flag, item});
  }
}

// -v, which people read faster, unless the paths hold what separates its parts.
void append_mount(Argv& argv, const ResolvedMount& mount, bool is_read_only) {
  // Only -v has words for the options, and only --mount has colons in a path.
  if (!mount.options.empty() ||
      (mount.source + mount.target).find_first_of(":,\"") == std::string::npos) {
    std::vector<std::string> modes = mount.options;
    if (is_read_only) modes.insert(modes.begin(), "ro");
    append(argv, {"-v", mount.source + ":" + mount.target + (modes.empty() ? "" : ":") +
                            join(modes, ",")});
    return;
  }
  append(argv, {"--mount",
                fmt::format("type={},{},{}{}", mount.is_volume ? "volume" : "bind",
                            csv_field("source=" + mount.source),
                            csv_field("target=" + mount.target), is_read_only ? ",readonly" : "")});
}

void append_variables(Argv& argv, const RunPlan& plan, const LaunchExtras* extras) {
  for (const auto& [name, value] : plan.env) append(argv, {"-e", name + "=" + value});
  for (const std::string& name : plan.host_variables) append(argv, {"-e", name});
  for (const auto& [name, path] : plan.file_variables) append(argv, {"-e", name});
  append_visible_devices(argv, plan);
  if (extras == nullptr) return;
  for (const auto& [name, value] : extras->env) append(argv, {"-e", name + "=" + value});
}

// An index holds several platforms and so may a tag, so the one that is meant is named.
void append_image(Argv& argv, const PinnedImage& image) {
  const bool is_index = !image.index.empty() && image.run_as.ends_with("@" + image.index);
  const bool is_unpinned = image.pin.empty();
  if ((is_index || is_unpinned) && !image.platform.empty()) {
    append(argv, {"--platform", image.platform});
  }
  argv.push_back(image.run_as);
}

void append_extras(Argv& argv, const RunPlan& plan, const LaunchExtras* extras) {
  if (extras == nullptr) return;
  if (plan.name().empty()) append(argv, {"--name", extras->name});
  if (!extras->cidfile.empty()) append(argv, {"--cidfile", extras->cidfile});
  for (const auto& [key, value] : extras->labels) append(argv, {"--label", key + "=" + value});
}

// `--env-file <(..)`: what the probe read the job would miss.
bool is_read_once(const OptionValue& value) {
  return value.option->flag == "--env-file" &&
         std::ranges::any_of(value.values, [](const std::string& file) {
           return file.starts_with("/dev/") || file.starts_with("/proc/");
         });
}

// Of the words that pass through, those whose meaning is known and wanted in the probe.
void append_probe_words(Argv& argv, const std::vector<std::string>& words) {
  for (const profile::Word& word : profile::read_words(words).options) {
    if (word.option == nullptr || !word.option->is_for_probe) continue;
    const std::string flag{word.option->flag};
    argv.push_back(word.value ? flag + "=" + *word.value : flag);
  }
}

// Whether the profile or the caller, not the image, says what program the job is.
bool replaces_entrypoint(const RunPlan& plan) {
  const profile::Option* const entrypoint = profile::find_by_key("entrypoint");
  return std::ranges::find(plan.container, entrypoint, &OptionValue::option) !=
             plan.container.end() ||
         std::ranges::any_of(profile::read_words(plan.extra_args).options,
                             [&](const profile::Word& word) { return word.option == entrypoint; });
}

}  // namespace

Argv run_argv(const RunPlan& plan, const LaunchExtras* extras) {
  Argv argv = client_words(plan);
  append_gpu(argv, plan.gpu);
  if (plan.interactive || plan.tty) {
    argv.emplace_back(!plan.tty ? "-i" : plan.interactive ? "-it" : "-t");
  }
  for (const OptionValue& value : plan.container) append_option(argv, value);
  argv.insert(argv.end(), plan.extra_args.begin(), plan.extra_args.end());
  append_extras(argv, plan, extras);  // of two labels of one name the last one counts
  for (const ResolvedMount& mount : plan.mounts) append_mount(argv, mount, mount.read_only);
  append_variables(argv, plan, extras);
  append_image(argv, plan.image);
  argv.insert(argv.end(), plan.command.begin(), plan.command.end());
  return argv;
}

Argv probe_argv(const RunPlan& plan, const ProbeRequest& request) {
  Argv argv = client_words(plan);
  append_gpu(argv, plan.gpu);
  append(argv, {"-i", "--rm", "--network", "none", "--name", request.name});
  for (const OptionValue& value : plan.container) {
    if (value.option->is_for_probe && !is_read_once(value)) append_option(argv, value);
  }
  append_probe_words(argv, plan.extra_args);
  for (const ResolvedMount& mount : plan.mounts) {
    // The engine would create a volume that does not exist yet.
    if (!mount.must_create && !mount.is_volume) append_mount(argv, mount, true);
  }
  append_variables(argv, plan, nullptr);
  std::optional<std::string> entrypoint = request.entrypoint;
  if (!entrypoint && replaces_entrypoint(plan)) entrypoint = "sh";
  if (entrypoint) append(argv, {"--entrypoint", *entrypoint});
  append_image(argv, plan.image);
  if (!entrypoint) argv.emplace_back("sh");
  argv.emplace_back("-s");
  return argv;
}

}  // namespace sparkrun::plan
