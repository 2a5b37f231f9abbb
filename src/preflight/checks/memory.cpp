// SPDX-License-Identifier: MIT
#include "base/text.hpp"
#include "preflight/check.hpp"

#include <fmt/format.h>

namespace sparkrun::preflight {
namespace {

constexpr long long kib_per_gib = 1024 * 1024;

CheckResult judge(const Subject& subject) {
  if (subject.engine != nullptr && subject.engine->is_remote) {
    return skipped("the engine is remote: this host's memory is not the job's");
  }
  const long long available_kib = subject.host.memory_available_kib;
  if (available_kib < 0) return skipped("/proc/meminfo does not tell MemAvailable");
  const std::string available = human_bytes(available_kib * 1024);
  const auto needed_gib =
      subject.plan != nullptr ? subject.plan->profile.preflight.min_available_gib : std::nullopt;
  if (!needed_gib) return informed(available + " available; the profile names no need");
  if (available_kib < *needed_gib * kib_per_gib) {
    return failed(
        fmt::format("{} available, the profile needs {} GiB", available, *needed_gib),
        "stop other jobs and inference servers; what is only cached can be given back with "
        "`sync; echo 3 | sudo tee /proc/sys/vm/drop_caches`");
  }
  return passed(fmt::format("{} available, {} GiB needed", available, *needed_gib));
}

}  // namespace

extern const Check memory_check;
const Check memory_check{
    .id = "memory",
    .title = "enough unified memory for the profile",
    .is_blocking = true,
    .needs_probe = false,
    .judge = judge,
    .symptom = "out of memory below 128 GB, or a host that stops answering while a model is loaded",
    .cause =
        "CPU and GPU share one memory. What the page cache and other processes hold is missing for "
        "CUDA, and nvidia-smi answers [N/A] when it is asked for memory, so only MemAvailable of "
        "/proc/meminfo counts.",
    .remedy =
        "Stop what else uses the memory. Drop the page cache between runs, not during them: it "
        "needs root and slows every process down for a while. Set `preflight.min_available_gib` to "
        "what the job needs.",
    .sources =
        "github.com/wshobson/agents spark-training-gotchas G3, "
        "NVIDIA/dgx-spark-playbooks#97",
    .last_verified = "2026-07-14",
};

}  // namespace sparkrun::preflight
