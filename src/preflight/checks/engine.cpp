// SPDX-License-Identifier: MIT
#include "preflight/check.hpp"

#include <fmt/format.h>

namespace sparkrun::preflight {
namespace {

using profile::GpuAccess;

constexpr std::string_view register_runtime =
    "`sudo nvidia-ctk runtime configure --runtime=docker`, then `sudo systemctl restart docker`; "
    "or set "
    "`gpu.access = \"auto\"`";

std::string name_of(const engine::EngineFacts& engine) {
  return engine.version.empty() ? engine.name : fmt::format("{} {}", engine.name, engine.version);
}

CheckResult judge_runtime(const engine::EngineFacts& engine, GpuAccess access) {
  if (!engine.has_runtime("nvidia")) {
    return failed(fmt::format("{} has no runtime called nvidia, which `{}` needs", name_of(engine),
                              profile::to_string(access)),
                  std::string{register_runtime});
  }
  return passed(fmt::format("{} with the runtime nvidia", name_of(engine)));
}

CheckResult judge_cdi(const engine::EngineFacts& engine) {
  if (engine.has_nvidia_cdi) {
    return passed(fmt::format("{} with a CDI specification for nvidia.com/gpu", name_of(engine)));
  }
  if (engine.is_remote) return skipped("the CDI specifications of a remote engine cannot be seen");
  return failed("there is no CDI specification for nvidia.com/gpu",
                "`sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml`");
}

CheckResult judge_gpu_access(const engine::EngineFacts& engine, GpuAccess access) {
  const bool asks_by_flag = access == GpuAccess::gpus || access == GpuAccess::runtime_and_gpus;
  if (asks_by_flag && engine.toolkit_mode == "cdi") {
    return failed("the NVIDIA Container Toolkit is in cdi mode and refuses `--gpus`",
                  "set `gpu.access` to `auto`, `runtime` or `cdi`");
  }
  switch (access) {
    case GpuAccess::runtime:
    case GpuAccess::runtime_and_gpus:
      return judge_runtime(engine, access);
    case GpuAccess::cdi:
      return judge_cdi(engine);
    case GpuAccess::gpus:  // whether the hook of --gpus is there shows when a container starts
      if (engine.name == "docker" && !engine.is_remote && !engine.has_toolkit) {
        return warned(
            name_of(engine) +
                ", and nothing of the NVIDIA Container Toolkit is installed "
                "here: `--gpus` will hardly work",
            "`sudo apt install nvidia-container-toolkit`, then " + std::string{register_runtime});
      }
      break;
    case GpuAccess::automatic:
    case GpuAccess::none:
      break;
  }
  return passed(name_of(engine));
}

CheckResult judge(const Subject& subject) {
  if (subject.engine == nullptr) {
    if (subject.engine_note.empty()) return skipped("the engine was not asked");
    return failed(subject.engine_note,
                  "start the engine (`sudo systemctl start docker`), or correct DOCKER_HOST");
  }
  const GpuAccess access = subject.plan != nullptr ? subject.plan->gpu.access : GpuAccess::none;
  CheckResult result = judge_gpu_access(*subject.engine, access);
  if (result.status == Status::pass && access != GpuAccess::none && subject.engine->is_rootless) {
    return warned(result.message +
                      ", but it runs rootless and may not open the device nodes or raise "
                      "the memlock limit",
                  "use the engine of the system for GPU work");
  }
  return result;
}

}  // namespace

extern const Check engine_check;
const Check engine_check{
    .id = "engine",
    .title = "container engine and its way to the GPU",
    .is_blocking = true,
    .needs_probe = false,
    .judge = judge,
    .symptom =
        "`unknown or invalid runtime name: nvidia`, `could not select device driver \"\" with "
        "capabilities: [[gpu]]`, or `unresolvable CDI devices` when the container starts",
    .cause =
        "The engine does not run, or the NVIDIA Container Toolkit is not registered with it in the "
        "way that the profile asks for: `runtime` needs a runtime called nvidia, `cdi` a CDI "
        "specification, and a toolkit in cdi mode refuses `--gpus`.",
    .remedy =
        "Leave `gpu.access` at `auto`, which takes what the engine has; or register the toolkit "
        "with `nvidia-ctk runtime configure`, or write a specification with `nvidia-ctk cdi "
        "generate`.",
    .sources = "NVIDIA/dgx-spark-playbooks#26, NVIDIA/nvidia-container-toolkit#1537",
    .last_verified = "2026-07-14",
};

}  // namespace sparkrun::preflight
