// SPDX-License-Identifier: MIT
#include "plan/lints.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "oci/reference.hpp"
#include "profile/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>

namespace sparkrun::plan {
namespace {

using NameValue = std::pair<std::string, std::string>;
using Lint = std::optional<std::string>;

constexpr std::string_view deprecated_variable = "HF_HUB_ENABLE_HF_TRANSFER";
constexpr std::string_view ptxas_variable = "TRITON_PTXAS_PATH";

// Images whose programs compile with Triton, by a part of their name.
constexpr std::array triton_images = std::to_array<std::string_view>(
    {"pytorch", "unsloth", "vllm", "sglang", "tensorrt-llm", "triton", "axolotl", "nemo"});

// Packages that an image for this hardware pins to one another: a wheel from PyPI in place of one
// of them brings CUDA 12 or no kernels for sm_121.
constexpr std::array pinned_packages = std::to_array<std::string_view>(
    {"torch", "torchvision", "torchaudio", "triton", "flash-attn", "xformers", "vllm", "sglang",
     "tensorrt-llm", "transformer-engine", "bitsandbytes", "unsloth", "torchao"});

const NameValue* find_variable(const RunPlan& plan, std::string_view name) {
  const auto found = std::ranges::find(plan.env, name, &NameValue::first);
  return found == plan.env.end() ? nullptr : &*found;
}

bool has_value(const RunPlan& plan, std::string_view key, std::string_view value) {
  const profile::OptionValue* const found = plan.find(key);
  return found && !found->values.empty() && found->values.front() == value;
}

bool uses_gpu(const RunPlan& plan) { return plan.gpu.access != profile::GpuAccess::none; }

bool restarts(const RunPlan& plan) {
  return plan.find("restart") && !has_value(plan, "restart", "no");
}

// The value of a long option of the job's own program: `--nnodes 2`, `--nnodes=2`.
std::optional<std::string> value_in_command(const RunPlan& plan, std::string_view option) {
  for (size_t i = 0; i < plan.command.size(); ++i) {
    const auto [name, value] = split_once(plan.command[i], '=');
    if (name != option) continue;
    if (name.size() < plan.command[i].size()) return std::string{value};
    if (i + 1 < plan.command.size()) return plan.command[i + 1];
  }
  return std::nullopt;
}

Lint shm_size_without_effect(const RunPlan& plan, const PlanFacts&) {
  if (!plan.find("shm_size") || !has_value(plan, "ipc", "host")) return std::nullopt;
  return "shm_size has no effect with ipc = \"host\": the host's /dev/shm is used";
}

Lint publish_without_effect(const RunPlan& plan, const PlanFacts&) {
  const bool publishes = plan.find("publish") || plan.find("publish_all");
  if (!publishes || !has_value(plan, "network", "host")) return std::nullopt;
  return "publish has no effect with network = \"host\": the ports are the host's already";
}

// docker takes the last one without a word.
Lint given_twice(const RunPlan& plan, const PlanFacts&) {
  std::set<const profile::Option*> seen;
  for (const profile::OptionValue& value : plan.container) seen.insert(value.option);
  for (const profile::Word& word : profile::read_words(plan.extra_args).options) {
    // A container may be in several networks.
    const bool is_single =
        word.option && word.option->flag != "--network" &&
        (word.option->arity == profile::Arity::value || word.option->arity == profile::Arity::flag);
    if (is_single && !seen.insert(word.option).second) {
      return fmt::format(
          "{} is given twice: in the options and in extra_args, or twice there; the "
          "last one counts",
          word.option->flag);
    }
  }
  return std::nullopt;
}

// No tag means `latest`.
Lint moving_tag(const RunPlan& plan, const PlanFacts&) {
  if (plan.image.pin == "lock") return std::nullopt;
  try {
    const auto reference = oci::Reference::parse(plan.profile.image);
    if (reference.digest() || reference.tag().value_or("latest") != "latest") return std::nullopt;
  } catch (const Error&) {
    return std::nullopt;  // an image id
  }
  return fmt::format("{} has no tag that stays: a lock would pin it", plan.profile.image);
}

Lint deprecated_transfer(const RunPlan& plan, const PlanFacts&) {
  if (!plan.has_variable(deprecated_variable)) return std::nullopt;
  return fmt::format("{} is deprecated and has no effect: set HF_XET_HIGH_PERFORMANCE",
                     deprecated_variable);
}

Lint restart_with_remove(const RunPlan& plan, const PlanFacts&) {
  if (!restarts(plan) || !plan.find("remove")) return std::nullopt;
  return "docker refuses `restart` together with `remove`";
}

// A server that cannot start is started some 35 times until the host is out of memory
// (eugr/spark-vllm-docker#257).
Lint restart_with_gpu(const RunPlan& plan, const PlanFacts&) {
  if (!restarts(plan) || !uses_gpu(plan)) return std::nullopt;
  return "restart: the engine starts the job again on its own, without checks and without a record";
}

std::optional<std::string> sign_of_several_nodes(const RunPlan& plan) {
  const auto is_several = [](std::string_view text) {
    return parse_number(text.substr(text.rfind(':') + 1)).value_or(0) > 1;  // torchrun: `1:4`
  };
  for (const std::string_view name : {"WORLD_SIZE", "NNODES"}) {
    const NameValue* const variable = find_variable(plan, name);
    if (variable && is_several(variable->second))
      return fmt::format("{}={}", name, variable->second);
  }
  for (const std::string_view option : {"--nnodes", "--num-nodes", "--num_nodes"}) {
    const auto value = value_in_command(plan, option);
    if (value && is_several(*value)) return fmt::format("{} {}", option, *value);
  }
  return std::nullopt;
}

// NCCL then takes the Ethernet sockets without a word (vllm-project/vllm#42075).
Lint several_nodes_without_infiniband(const RunPlan& plan, const PlanFacts&) {
  const auto sign = sign_of_several_nodes(plan);
  if (!sign || plan.find("privileged")) return std::nullopt;
  const profile::OptionValue* const devices = plan.find("device");
  const auto is_infiniband = [](const std::string& text) {
    return text.find("/dev/infiniband") != std::string::npos;
  };
  if (devices && std::ranges::any_of(devices->values, is_infiniband)) return std::nullopt;
  if (std::ranges::any_of(plan.extra_args, is_infiniband)) return std::nullopt;
  return fmt::format(
      "{} means several nodes, and the job does not get /dev/infiniband: NCCL will "
      "use slow sockets",
      *sign);
}

Lint outputs_lost(const RunPlan& plan, const PlanFacts&) {
  const bool is_removed = plan.find("remove") != nullptr;
  if (plan.profile.purpose != "training" || !is_removed ||
      std::ranges::any_of(plan.mounts, [](const auto& mount) { return !mount.read_only; })) {
    return std::nullopt;
  }
  return "remove = true and no writable mount: what the training writes goes with the container";
}

bool is_model_cache(const ResolvedMount& mount, const RunPlan& plan) {
  const NameValue* const home = find_variable(plan, "HF_HOME");
  if (home && mount.target.starts_with(home->second)) return true;
  return std::ranges::any_of(
      std::to_array<std::string_view>({"huggingface", "/.cache", "/hf", "cache", "model"}),
      [&](std::string_view part) { return mount.target.find(part) != std::string::npos; });
}

Lint no_model_cache(const RunPlan& plan, const PlanFacts&) {
  // Training may well begin from nothing, unless it logs in to fetch something.
  const bool fetches = plan.has_variable("HF_TOKEN") || plan.has_variable("HF_HOME");
  const bool uses_models =
      plan.profile.purpose == "inference" || (plan.profile.purpose == "training" && fetches);
  const bool has_cache = std::ranges::any_of(
      plan.mounts, [&](const ResolvedMount& mount) { return is_model_cache(mount, plan); });
  if (!uses_models || has_cache || !plan.find("remove")) return std::nullopt;
  return "no model cache is mounted: every run downloads its models anew (--hf-cache mounts yours)";
}

bool runs_as_root(const RunPlan& plan) {
  const profile::OptionValue* const user = plan.find("user");
  if (user == nullptr) return true;
  const std::string_view name = split_once(user->values.front(), ':').first;
  return name == "root" || name == "0";
}

// Later, as the user: EACCES on the lock files of the cache.
Lint cache_of_root(const RunPlan& plan, const PlanFacts& facts) {
  if (facts.caller.uid == 0 || plan.engine.is_rootless || !runs_as_root(plan)) return std::nullopt;
  const auto mount = std::ranges::find_if(plan.mounts, [&](const ResolvedMount& one) {
    return !one.is_volume && !one.read_only && is_model_cache(one, plan) &&
           one.source.starts_with(facts.home.string() + "/");
  });
  if (mount == plan.mounts.end()) return std::nullopt;
  return fmt::format(
      "what the job adds to {} will belong to root; user = \"caller\" keeps it yours",
      mount->source);
}

// The words of a command, those of scripts in it (`bash -c "pip install x"`) one by one.
std::vector<std::string_view> words_of(const RunPlan& plan) {
  std::vector<std::string_view> words;
  for (const std::string& argument : plan.command) {
    for (const std::string_view line : split(argument, '\n')) {
      for (const std::string_view word : split(line, ' ')) {
        if (!word.empty()) words.push_back(word);
      }
    }
  }
  return words;
}

// `torch==2.9.0`, `torch[extra]` -> `torch`.
std::string package_name(std::string_view word) {
  std::string name = to_lower(word.substr(0, word.find_first_of("=<>!~[;@'\"")));
  std::ranges::replace(name, '_', '-');
  return name;
}

Lint pip_install_of_pinned(const RunPlan& plan, const PlanFacts&) {
  const auto words = words_of(plan);
  bool is_pip = false, installs = false;
  for (const std::string_view word : words) {
    const std::string_view program = word.substr(word.rfind('/') + 1);
    if (program == "pip" || program == "pip3") {
      is_pip = true;
      installs = false;
    } else if (word == "install") {
      installs = is_pip;
    } else if (word == "&&" || word == ";" || word == "||" || word == "|") {
      is_pip = installs = false;
    } else if (installs && !word.starts_with('-') &&
               std::ranges::count(pinned_packages, package_name(word)) > 0) {
      return fmt::format(
          "the command installs {}, which the image pins to its CUDA and to its "
          "other packages: a wheel from PyPI may break both",
          package_name(word));
    }
  }
  return std::nullopt;
}

Lint triton_without_ptxas(const RunPlan& plan, const PlanFacts&) {
  const bool is_triton = std::ranges::any_of(triton_images, [&](std::string_view part) {
    return to_lower(plan.profile.image).find(part) != std::string::npos;
  });
  if (!is_triton || !uses_gpu(plan) || plan.has_variable(ptxas_variable)) return std::nullopt;
  return fmt::format(
      "{} is not set: where Triton brings a ptxas that does not know sm_121a, "
      "kernels fail to compile (set it to /usr/local/cuda/bin/ptxas)",
      ptxas_variable);
}

bool is_below(const fs::path& path, const fs::path& folder) {
  const auto [end, rest] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  return end == folder.end();
}

// `python train.py`, typed where train.py is, and the container has no such folder.
Lint script_left_behind(const RunPlan& plan, const PlanFacts& facts) {
  constexpr std::array endings = std::to_array<std::string_view>({".py", ".sh", ".ipynb", ".yaml"});
  for (const std::string& word : plan.command) {
    const bool is_file = std::ranges::any_of(
        endings, [&](std::string_view ending) { return word.ends_with(ending); });
    const fs::path here = (facts.working_directory / word).lexically_normal();
    if (!is_file || word.starts_with('/') || word.find(' ') != std::string::npos ||
        !facts.has_script(here)) {
      continue;
    }
    const bool is_carried = std::ranges::any_of(plan.mounts, [&](const ResolvedMount& mount) {
      return !mount.is_volume && is_below(here, mount.source);
    });
    if (!is_carried) {
      return fmt::format("{} exists here, but no mount carries it into the container (--here does)",
                         word);
    }
  }
  return std::nullopt;
}

constexpr std::array all_lints = std::to_array<Lint (*)(const RunPlan&, const PlanFacts&)>({
    shm_size_without_effect,
    publish_without_effect,
    given_twice,
    moving_tag,
    deprecated_transfer,
    restart_with_remove,
    restart_with_gpu,
    several_nodes_without_infiniband,
    outputs_lost,
    no_model_cache,
    cache_of_root,
    pip_install_of_pinned,
    triton_without_ptxas,
    script_left_behind,
});

}  // namespace

std::vector<std::string> lints(const RunPlan& plan, const PlanFacts& facts) {
  std::vector<std::string> warnings;
  for (const auto lint : all_lints) {
    if (auto warning = lint(plan, facts)) warnings.push_back(std::move(*warning));
  }
  return warnings;
}

}  // namespace sparkrun::plan
