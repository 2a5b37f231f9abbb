// SPDX-License-Identifier: MIT
#include "base/text.hpp"
#include "preflight/check.hpp"

#include <fmt/format.h>

namespace sparkrun::preflight {
namespace {

using Finding = std::optional<CheckResult>;

bool nvidia_smi_sees_gpu(const ProbeFacts& facts) {
  return facts.is("nvidia_smi.exit", "0") && facts.get("nvidia_smi.name").has_value();
}

bool is_missing(const ProbeFacts& facts, std::string_view node) {
  return facts.is(fmt::format("device.{}", node), "missing");
}

// Rung 1: the container was started without a way to the GPU, so nothing of it is inside.
Finding find_missing_access(const ProbeFacts& facts, const plan::RunPlan* plan) {
  if (!is_missing(facts, "nvidia0") || !is_missing(facts, "nvidiactl")) return std::nullopt;
  if (nvidia_smi_sees_gpu(facts)) return std::nullopt;
  const std::string visible = facts.get("env.NVIDIA_VISIBLE_DEVICES.value").value_or("");
  if (visible == "void" || visible == "none" || facts.is("env.NVIDIA_VISIBLE_DEVICES", "empty")) {
    return failed(
        fmt::format("NVIDIA_VISIBLE_DEVICES=`{}` tells the NVIDIA runtime to give no GPU", visible),
        "unset NVIDIA_VISIBLE_DEVICES, or set it to `all`");
  }
  const std::string given = plan != nullptr
                                ? fmt::format(" although it was started with GPU access `{}`",
                                              profile::to_string(plan->gpu.access))
                                : "";
  return failed(
      "the container has no GPU device at all" + given,
      "run with `--runtime=nvidia --gpus all` (`gpu.access = \"auto\"`), and see that the "
      "NVIDIA Container Toolkit is registered with the engine");
}

// What CUDA makes of the first entry of CUDA_VISIBLE_DEVICES; behind an invalid one it reads no
// further.
Finding find_stale_index(const ProbeFacts& facts) {
  const auto value = facts.get("env.CUDA_VISIBLE_DEVICES.value");
  if (!value) return std::nullopt;
  const std::string_view first = trim(split_once(*value, ',').first);
  if (first.starts_with("GPU-") || first.starts_with("MIG-")) return std::nullopt;
  const long long count =
      parse_number(facts.get("nvidia_smi.count").value_or("")).value_or(1);  // a Spark has one
  const auto index = parse_number(first);
  if (index && *index < count) return std::nullopt;
  return failed(
      fmt::format("CUDA_VISIBLE_DEVICES=`{}` names a device that does not exist ({} here)", *value,
                  count == 1 ? "only 0 is" : fmt::format("0 to {} are", count - 1)),
      "unset CUDA_VISIBLE_DEVICES, or set it to 0");
}

// Rung 2: the GPU is inside and hidden from CUDA. nvidia-smi does not read the variable.
Finding find_hidden_device(const ProbeFacts& facts) {
  if (facts.is("env.CUDA_VISIBLE_DEVICES", "empty")) {
    return failed("CUDA_VISIBLE_DEVICES is set and empty, which hides every GPU",
                  "unset CUDA_VISIBLE_DEVICES (empty is not unset), or set it to 0");
  }
  return find_stale_index(facts);
}

// Rung 3: the device nodes.
Finding find_closed_device(const ProbeFacts& facts) {
  for (const std::string_view node : {"nvidia0", "nvidiactl", "nvidia_uvm"}) {
    const std::string path =
        node == "nvidia_uvm" ? "/dev/nvidia-uvm" : fmt::format("/dev/{}", node);
    if (is_missing(facts, node)) {
      return failed(path + " is not in the container",
                    "see that it exists on the host (`sudo nvidia-modprobe -u -c=0`) and that the "
                    "engine passes all nodes on");
    }
    if (facts.is(fmt::format("device.{}", node), "unreadable")) {
      return failed(path + " cannot be opened in the container",
                    "let the container's user and device cgroup open the nodes, and do not run a "
                    "rootless engine for GPU work");
    }
  }
  return std::nullopt;
}

// The rungs above are fine, and still no GPU is seen: what can be said without a guess.
CheckResult judge_rest(const ProbeFacts& facts) {
  if (facts.is("torch", "ok") && facts.is("torch.available", "no")) {
    const std::string warning = facts.get("torch.warning").value_or("it gives no reason");
    return failed(
        "the device nodes are there and torch sees no GPU: " + warning,
        "try a freshly started container first (a crashed process can leave CUDA in a bad "
        "state), then look at G1");
  }
  if (nvidia_smi_sees_gpu(facts)) {
    return passed("nvidia-smi sees " + facts.get("nvidia_smi.name").value_or(""));
  }
  if (facts.is("nvidia_smi.exit", "timeout")) {
    return failed("nvidia-smi did not answer within 5 s: the driver hangs",
                  "end what uses the GPU; if it stays so, restart the host");
  }
  if (const auto error = facts.get("nvidia_smi.error")) {
    return failed("nvidia-smi fails: " + *error,
                  "see that driver and container toolkit of the host fit");
  }
  if (facts.is("device.nvidia0", "ok")) {
    return informed(
        "the device nodes are there; the image has neither torch nor nvidia-smi to ask");
  }
  return skipped("the image told nothing about the GPU");
}

CheckResult judge(const Subject& subject) {
  if (subject.plan != nullptr && subject.plan->gpu.access == profile::GpuAccess::none) {
    return skipped("the profile asks for no GPU");
  }
  if (subject.probe == nullptr) return skipped(subject.probe_note);
  const ProbeFacts& facts = *subject.probe;
  if (facts.is("torch.available", "yes")) {
    return passed(fmt::format("torch sees the GPU (compute capability {})",
                              facts.get("torch.capability").value_or("unknown")));
  }
  if (auto finding = find_missing_access(facts, subject.plan)) return *finding;
  if (auto finding = find_hidden_device(facts)) return *finding;
  const bool torch_sees_none = facts.is("torch.available", "no");
  if (nvidia_smi_sees_gpu(facts) && !torch_sees_none) return judge_rest(facts);
  if (auto finding = find_closed_device(facts)) return *finding;
  return judge_rest(facts);
}

}  // namespace

extern const Check gpu_ladder_check;
const Check gpu_ladder_check{
    .id = "gpu",
    .title = "the GPU is seen inside the container",
    .is_blocking = true,
    .needs_probe = true,
    .judge = judge,
    .symptom =
        "torch.cuda.is_available() is False, `No CUDA GPUs are available`, or nvidia-smi fails "
        "inside the container although the host sees the GPU",
    .cause =
        "In the order in which to look: 1. the container was started without --runtime=nvidia "
        "--gpus "
        "all; 2. CUDA_VISIBLE_DEVICES is empty (which is not unset) or names a device that does "
        "not "
        "exist; 3. a /dev/nvidia* node is missing or may not be opened; 4. a crashed process left "
        "CUDA in a bad state; 5. torch was built for another CUDA (G1).",
    .remedy =
        "The first cause that is found is reported: correct that one and look again. Reinstalling "
        "torch helps with the fifth only.",
    .sources =
        "github.com/wshobson/agents spark stack matrix (GPU detection), NVIDIA/NemoClaw#4658",
    .last_verified = "2026-07-14",
};

}  // namespace sparkrun::preflight
