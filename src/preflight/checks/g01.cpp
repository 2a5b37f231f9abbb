// SPDX-License-Identifier: MIT
#include "base/text.hpp"
#include "base/version.hpp"
#include "preflight/check.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sparkrun::preflight {
namespace {

constexpr std::string_view take_cuda_13_image =
    "use an image with CUDA 13 for arm64 (NGC pytorch from 25.09 on), or torch from "
    "download.pytorch.org/whl/cu130";

bool is_registered(const ProbeFacts& facts, std::string_view prefix) {
  const std::string names = facts.get("ldconfig.cudart").value_or("");
  return std::ranges::any_of(split(names, ' '),
                             [&](std::string_view name) { return name.starts_with(prefix); });
}

// Loaded on its own, or through torch: a wheel brings its own copy, which the loader does not know.
bool can_load_cudart_13(const ProbeFacts& facts) {
  return facts.is("cudart13", "yes") || facts.is("torch.cudart13", "yes");
}

// The last word on an image that is otherwise right.
CheckResult pass_unless_mixed(const ProbeFacts& facts, const std::string& message) {
  if (is_registered(facts, "libcudart.so.12") && is_registered(facts, "libcudart.so.13")) {
    return warned(message + ", but libcudart.so.12 is registered beside libcudart.so.13",
                  "remove the CUDA 12 runtime from the image, or from its ld.so configuration");
  }
  return passed(message);
}

// No torch to ask: only the runtime library tells.
CheckResult judge_runtime_library(const ProbeFacts& facts, const std::string& why) {
  if (facts.is("cudart13", "yes") || is_registered(facts, "libcudart.so.13")) {
    return pass_unless_mixed(facts, why + ", libcudart.so.13 is there");
  }
  if (is_registered(facts, "libcudart.so.12")) {
    return warned(why + ", and libcudart.so.12 is the only CUDA runtime in the image",
                  std::string{take_cuda_13_image});
  }
  return skipped(why + " and no libcudart: nothing to judge");
}

CheckResult judge_failed_import(const ProbeFacts& facts) {
  const std::string error = facts.get("torch.error").value_or("");
  if (error.find("libcudart.so.12") != std::string::npos) {
    return failed("torch is linked to libcudart.so.12, which a CUDA 13 system does not have",
                  std::string{take_cuda_13_image});
  }
  if (error.find("libcudart.so.13") != std::string::npos) {
    return failed("torch needs libcudart.so.13 and the image does not have it",
                  "install the CUDA 13 runtime into the image; the wheel is not the problem");
  }
  return warned("torch cannot be imported: " + error, "repair torch in the image");
}

CheckResult judge_torch(const ProbeFacts& facts) {
  const std::string version = facts.get("torch.version").value_or("");
  const auto cuda = facts.get("torch.cuda");
  if (!cuda) return skipped("torch did not say what CUDA it was built for");
  if (*cuda == "none") {
    return failed(fmt::format("torch {} was built without CUDA", version),
                  std::string{take_cuda_13_image});
  }
  if (Version::parse(*cuda).number(0) != 13) {
    return failed(
        fmt::format("torch {} was built for CUDA {}, this system has CUDA 13", version, *cuda),
        std::string{take_cuda_13_image});
  }
  const std::string message = fmt::format("torch {} built for CUDA {}", version, *cuda);
  if (can_load_cudart_13(facts) || facts.is("torch.available", "yes")) {
    return pass_unless_mixed(facts, message);
  }
  if (!facts.get("cudart13")) return passed(message);
  return failed(message + ", but libcudart.so.13 cannot be loaded: " +
                    facts.get("cudart13.error").value_or("no reason given"),
                "repair the CUDA 13 runtime of the image; another torch wheel does not help");
}

CheckResult judge(const Subject& subject) {
  if (subject.probe == nullptr) return skipped(subject.probe_note);
  const ProbeFacts& facts = *subject.probe;
  const std::string torch = facts.get("torch").value_or("");
  if (torch == "ok") return judge_torch(facts);
  if (torch == "failed") return judge_failed_import(facts);
  if (torch == "timeout") return skipped("importing torch took too long to judge it");
  if (facts.is("python", "absent")) return judge_runtime_library(facts, "no python");
  return judge_runtime_library(facts, torch == "absent" ? "no torch" : "torch is unknown");
}

}  // namespace

extern const Check g01_check;
const Check g01_check{
    .id = "G1",
    .title = "CUDA 12/13 ABI mismatch",
    .is_blocking = true,
    .needs_probe = true,
    .judge = judge,
    .symptom =
        "`libcudart.so.12: cannot open shared object file`, or torch that sees no GPU although "
        "nvidia-smi does",
    .cause =
        "DGX Spark has CUDA 13 only. A torch that was built for CUDA 12 links libcudart.so.12. "
        "What "
        "counts is torch.version.cuda: NGC builds for CUDA 13 carry no `+cu130` in their version.",
    .remedy =
        "Use an image with CUDA 13, or a cu130 wheel. If torch is built for CUDA 13 and "
        "libcudart.so.13 cannot be loaded, the runtime is at fault and not the wheel. Remove a "
        "libcudart.so.12 that an earlier installation left behind.",
    .sources = "github.com/wshobson/agents spark-training-gotchas G1, vllm-project/vllm#36099",
    .last_verified = "2026-07-14",
};

}  // namespace sparkrun::preflight
