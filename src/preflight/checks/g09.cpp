// SPDX-License-Identifier: MIT
#include "preflight/check.hpp"

namespace sparkrun::preflight {
namespace {

CheckResult judge(const Subject& subject) {
  if (subject.probe == nullptr) return skipped(subject.probe_note);
  const ProbeFacts& facts = *subject.probe;
  if (facts.is("container.dockerenv", "yes")) return passed("in a container (/.dockerenv)");
  if (facts.is("container.containerenv", "yes"))
    return passed("in a container (/run/.containerenv)");
  if (facts.is("container.cgroup", "yes")) return passed("in a container (cgroup)");
  return informed("no marker of a container was found, which does not prove a bare host");
}

}  // namespace

extern const Check g09_check;
const Check g09_check{
    .id = "G9",
    .title = "container first, not bare pip",
    .is_blocking = false,
    .needs_probe = true,
    .judge = judge,
    .symptom =
        "packages that drift apart: an import that worked last week fails, or a wheel for another "
        "architecture or CUDA was installed",
    .cause =
        "Packages installed with pip on the bare host are not pinned to what was tested together "
        "on "
        "this hardware. Whether one is in a container shows in /.dockerenv, /run/.containerenv, or "
        "the cgroup of process 1; with cgroup v2 the last is often empty, so no marker means "
        "`unknown`, never `no`.",
    .remedy =
        "Run in a pinned image. Where that is not possible, isolate the environment with uv and "
        "pin "
        "the versions of a tested image.",
    .sources = "github.com/wshobson/agents spark-training-gotchas G9",
    .last_verified = "2026-07-14",
};

}  // namespace sparkrun::preflight
