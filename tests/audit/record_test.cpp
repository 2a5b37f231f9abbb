// SPDX-License-Identifier: MIT
#include "audit/record.hpp"

#include "base/json_value.hpp"

#include <gtest/gtest.h>

namespace sparkrun::audit {
namespace {

plan::RunPlan example_plan() {
  plan::RunPlan plan;
  plan.profile.name = "unsloth";
  plan.profile.origin = profile::Origin::project;
  plan.profile.sha256 = "ab";
  plan.image = {.reference = "docker.io/unsloth/unsloth:dgxspark-latest",
                .index = "sha256:01",
                .manifest = "sha256:02",
                .platform = "linux/arm64",
                .pin = "lock"};
  plan.gpu.access = profile::GpuAccess::runtime_and_gpus;
  plan.env = {{"NCCL_DEBUG", "value-of-profile"}};
  plan.host_variables = {"HF_TOKEN"};
  plan.mounts = {{.source = "/home/a/f", .target = "/f", .read_only = true}};
  return plan;
}

RunContext example_context(const plan::RunPlan& plan, const sys::HostFacts& host,
                           const engine::EngineFacts& engine) {
  return {.plan = &plan,
          .host = &host,
          .engine = &engine,
          .argv = {"docker", "run", "-e", "HF_TOKEN", "image", "--token", "abc"},
          .preflight = PreflightSummary{"ready", {{"G1", "pass"}}},
          .lock = LockState{"lockfiles/unsloth.lock", "cd"},
          .git = GitState{"0123", true},
          .uid = 1000,
          .tool_version = "0.1.0"};
}

TEST(RunRecord, SaysWhatStartedWithWhichFlagsWhere) {
  const plan::RunPlan plan = example_plan();
  const sys::HostFacts host{.id = "h1", .hostname = "spark", .user = "ci", .driver = "580.95.05"};
  const engine::EngineFacts engine{.name = "docker", .version = "28.5.1", .image_store = "classic"};

  const Json record = run_start("R1", example_context(plan, host, engine));

  EXPECT_EQ(to_json_text(record), R"({
  "event": "run.start",
  "run": "R1",
  "image": {
    "reference": "docker.io/unsloth/unsloth:dgxspark-latest",
    "index": "sha256:01",
    "manifest": "sha256:02",
    "platform": "linux/arm64",
    "pin": "lock"
  },
  "profile": {
    "name": "unsloth",
    "origin": "project",
    "sha256": "ab"
  },
  "lock": {
    "path": "lockfiles/unsloth.lock",
    "sha256": "cd"
  },
  "git": {
    "commit": "0123",
    "dirty": true
  },
  "argv": [
    "docker",
    "run",
    "-e",
    "HF_TOKEN",
    "image",
    "--token",
    "[redacted]"
  ],
  "redacted": 1,
  "env": [
    {
      "name": "NCCL_DEBUG",
      "from": "profile"
    },
    {
      "name": "HF_TOKEN",
      "from": "host"
    }
  ],
  "mounts": [
    {
      "source": "/home/a/f",
      "target": "/f",
      "read_only": true
    }
  ],
  "host": {
    "id": "h1",
    "name": "spark",
    "driver": "580.95.05"
  },
  "engine": {
    "name": "docker",
    "version": "28.5.1",
    "store": "classic",
    "gpu_access": "runtime+gpus",
    "rootless": false,
    "remote": false
  },
  "who": {
    "uid": 1000,
    "user": "ci"
  },
  "tool": {
    "version": "0.1.0"
  },
  "preflight": {
    "verdict": "ready",
    "checks": {
      "G1": "pass"
    }
  }
}
)");
}

TEST(RunRecord, NeverHoldsTheValueOfAVariable) {
  const plan::RunPlan plan = example_plan();
  const Json record = run_start("R1", example_context(plan, {}, {}));

  EXPECT_EQ(to_json_line(record).find("value-of-profile"), std::string::npos);
}

TEST(RunRecord, SaysWhatTheEngineBound) {
  EXPECT_EQ(to_json_line(run_bound("R1", {"c1", "sha256:03", {"a@sha256:01"}, "config"})),
            R"({"event":"run.bound","run":"R1","container":"c1","observed":{"id":"sha256:03",)"
            R"("repo_digests":["a@sha256:01"],"matches":"config"}})");
}

TEST(RunRecord, SaysHowItEnded) {
  EXPECT_EQ(
      to_json_line(run_end("R1", {.exit = 0, .duration = std::chrono::seconds{5}})),
      R"({"event":"run.end","run":"R1","exit":0,"signal":null,"oom":false,"duration_ms":5000})");
  EXPECT_EQ(to_json_line(run_end("R1", {.exit = 137, .is_oom_killed = true})),
            R"({"event":"run.end","run":"R1","exit":137,"signal":9,"oom":true,"duration_ms":0})");
}

TEST(RunRecord, SaysWhyItWasRefusedEvenWithoutAPlan) {
  const Json record = run_refused("R1", {.profile = "p", .uid = 1, .tool_version = "0.1.0"},
                                  {"lock.stale", "https://a:b@c is stale", {"image: x", "y"}});

  EXPECT_EQ(to_json_line(record),
            R"({"event":"run.refused","run":"R1","error":"lock.stale","message":)"
            R"("https://[redacted]@c is stale","problems":["image: x","y"],"profile":{"name":"p"},)"
            R"("who":{"uid":1},"tool":{"version":"0.1.0"}})");
}

}  // namespace
}  // namespace sparkrun::audit
