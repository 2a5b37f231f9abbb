// SPDX-License-Identifier: MIT
#include "plan/argv.hpp"

#include "base/text.hpp"
#include "plan/gpu_access.hpp"
#include "plan/plan_fixture.hpp"
#include "profile/store.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>

namespace sparkrun::plan {
namespace {

using profile::GpuAccess;
using Strings = std::vector<std::string>;

constexpr const char* index_digest =
    "sha256:f3b4a33fd60d5e0358287bb44d57e91eda45e8f1681fef1bfd6c969371417130";

profile::Profile built_in(std::string_view name) {
  return profile::Store{{}, {.variables = {{"HOME", "/nowhere"}}}, "/nowhere"}.load(name);
}

std::string line_of(const profile::Profile& profile, const PinnedImage& image,
                    const PlanFacts& facts) {
  return shell_join(
      run_argv(make_plan(profile, image, choose_gpu_access(profile.gpu, nullptr), {}, facts)));
}

RunOptions named(const std::string& name) {
  return {.container = {{profile::find_by_key("name"), {name}}}};
}

std::string line_of(const RunPlan& plan) { return shell_join(run_argv(plan)); }

// What a real shell makes of a line.
Strings words_of_shell(const std::string& line) {
  const std::string script = "printf '%s\\0' " + line;
  FILE* const pipe = popen(("exec /bin/sh -c " + shell_quote(script)).c_str(), "r");
  std::string out;
  std::array<char, 4096> buffer;
  while (const size_t got = fread(buffer.data(), 1, buffer.size(), pipe))
    out.append(buffer.data(), got);
  pclose(pipe);
  Strings words;
  for (const std::string_view word : split(out, '\0')) words.emplace_back(word);
  words.pop_back();  // after the last NUL
  return words;
}

TEST(RunArgv, IsTheLineThatNvidiaDocumentsForPytorch) {
  EXPECT_EQ(line_of(built_in("pytorch"), {.run_as = "nvcr.io/nvidia/pytorch@sha256:0123"},
                    made_up_facts()),
            "docker run --runtime=nvidia --gpus all -it --rm --ipc=host --ulimit memlock=-1 "
            "--ulimit stack=67108864 -v /work/finetuning:/workspace/finetuning "
            "-e TRITON_PTXAS_PATH=/usr/local/cuda/bin/ptxas -e HF_XET_HIGH_PERFORMANCE=1 "
            "nvcr.io/nvidia/pytorch@sha256:0123");
}

TEST(RunArgv, IsTheSameLineForUnslothButForTheImage) {
  EXPECT_EQ(
      line_of(built_in("unsloth"), {.run_as = "unsloth/unsloth@sha256:0123"}, made_up_facts()),
      "docker run --runtime=nvidia --gpus all -it --rm --ipc=host --ulimit memlock=-1 "
      "--ulimit stack=67108864 -v /work/finetuning:/workspace/finetuning "
      "-e TRITON_PTXAS_PATH=/usr/local/cuda/bin/ptxas -e HF_XET_HIGH_PERFORMANCE=1 "
      "unsloth/unsloth@sha256:0123");
}

TEST(RunArgv, HasNoTerminalWhereThereIsNone) {
  PlanFacts facts = made_up_facts();
  facts.out_is_terminal = false;
  EXPECT_NE(line_of(built_in("pytorch"), {.run_as = "x"}, facts).find("--gpus all -i --rm"),
            std::string::npos);

  facts.in_is_usable = facts.in_is_terminal = false;
  EXPECT_NE(line_of(built_in("pytorch"), {.run_as = "x"}, facts).find("--gpus all --rm"),
            std::string::npos);
}

TEST(RunArgv, NamesThePlatformOfAnIndexRightBeforeTheImage) {
  RunPlan plan = made_up_plan("");
  plan.image = {.run_as = std::string{"a/b@"} + index_digest,
                .index = index_digest,
                .manifest = "sha256:1",
                .platform = "linux/arm64",
                .pin = "lock"};
  EXPECT_EQ(line_of(plan),
            std::string{"docker run -it --platform linux/arm64 a/b@"} + index_digest);

  plan.image.run_as = "a/b@sha256:1";
  EXPECT_EQ(line_of(plan), "docker run -it a/b@sha256:1");
  plan.image.run_as = "sha256:2";
  EXPECT_EQ(line_of(plan), "docker run -it sha256:2");
}

TEST(RunArgv, NamesThePlatformWhereNothingIsPinned) {
  RunPlan plan = made_up_plan("");
  plan.image = {.run_as = "a/b:1", .platform = "linux/arm64"};

  EXPECT_EQ(line_of(plan), "docker run -it --platform linux/arm64 a/b:1");
}

TEST(RunArgv, WritesAFlagOnlyWhereItChangesSomething) {
  const RunPlan plan = made_up_plan("[container]\nsig_proxy = false\ninit = false\n");

  EXPECT_EQ(line_of(plan), "docker run -it --sig-proxy=false reg.test/a@sha256:1");
  EXPECT_EQ(line_of(made_up_plan("[container]\nsig_proxy = true\n")),
            "docker run -it reg.test/a@sha256:1");
}

TEST(RunArgv, WritesWhatElseAMountIs) {
  const RunPlan plan = made_up_plan(
      "[[mount]]\nsource = \"/data\"\ntarget = \"/d\"\nread_only = true\noptions = [\"z\", "
      "\"rshared\"]\n");

  EXPECT_EQ(line_of(plan), "docker run -it -v /data:/d:ro,z,rshared reg.test/a@sha256:1");
}

struct Access {
  GpuAccess access;
  const char* devices;
  const char* line;
};

TEST(RunArgv, WritesEachWayToTheGpu) {
  constexpr Access table[] = {
      {GpuAccess::none, "all", "docker run -it x"},
      {GpuAccess::gpus, "all", "docker run --gpus all -it x"},
      {GpuAccess::gpus, "device=0,1", "docker run --gpus '\"device=0,1\"' -it x"},
      {GpuAccess::runtime_and_gpus, "all", "docker run --runtime=nvidia --gpus all -it x"},
      {GpuAccess::runtime, "all",
       "docker run --runtime=nvidia -it -e NVIDIA_VISIBLE_DEVICES=all x"},
      {GpuAccess::runtime, "device=0,1",
       "docker run --runtime=nvidia -it -e NVIDIA_VISIBLE_DEVICES=0,1 x"},
      {GpuAccess::runtime, "", "docker run --runtime=nvidia -it x"},
      {GpuAccess::cdi, "all", "docker run --device nvidia.com/gpu=all -it x"},
      {GpuAccess::cdi, "device=0,1",
       "docker run --device nvidia.com/gpu=0 --device nvidia.com/gpu=1 -it x"},
  };
  for (const Access& row : table) {
    RunPlan plan = made_up_plan("");
    plan.image.run_as = "x";
    plan.gpu = {.access = row.access, .devices = row.devices};

    EXPECT_EQ(line_of(plan), row.line);
  }
}

TEST(RunArgv, KeepsVisibleDevicesThatTheProfileSets) {
  RunPlan plan = made_up_plan("[env]\nNVIDIA_VISIBLE_DEVICES = '1'");
  plan.gpu = {.access = GpuAccess::runtime, .devices = "all"};

  EXPECT_EQ(line_of(plan),
            "docker run --runtime=nvidia -it -e NVIDIA_VISIBLE_DEVICES=1 reg.test/a@sha256:1");
}

TEST(RunArgv, WritesEveryKindOfOption) {
  const RunPlan plan = made_up_plan(R"(
command = ["--model", "two words"]
env_from_host = ["HF_TOKEN"]
[container]
entrypoint = ""
init = true
publish = ["127.0.0.1:1:1", "2:2"]
user = "1000:1000"
labels = { b = "2", a = "1" }
extra_args = ["--cap-add=IPC_LOCK"]
[env]
B = ""
A = "x y"
)",
                                    named("mine"));

  EXPECT_EQ(line_of(plan),
            "docker run -it --name=mine --init --publish 127.0.0.1:1:1 --publish 2:2 "
            "--user=1000:1000 --entrypoint= "
            "--label b=2 --label a=1 --cap-add=IPC_LOCK -e B= -e 'A=x y' -e HF_TOKEN "
            "reg.test/a@sha256:1 --model 'two words'");
}

TEST(RunArgv, NeverHoldsTheValueOfAHostVariable) {
  PlanFacts facts = made_up_facts();
  facts.variables["HF_TOKEN"] = "the-value-of-the-secret";

  const RunPlan plan =
      make_plan(made_up_profile("env_from_host = ['HF_TOKEN']"), made_up_image, {}, {}, facts);

  EXPECT_EQ(line_of(plan).find("the-value-of-the-secret"), std::string::npos);
}

struct MountRow {
  ResolvedMount mount;
  const char* words;
};

TEST(RunArgv, QuotesPathsThatVolumesCannotExpress) {
  const std::vector<MountRow> table = {
      {{.source = "/a", .target = "/b"}, "-v /a:/b"},
      {{.source = "/a", .target = "/b", .read_only = true}, "-v /a:/b:ro"},
      {{.source = "/a b", .target = "/b"}, "-v '/a b:/b'"},
      {{.source = "cache", .target = "/b", .is_volume = true}, "-v cache:/b"},
      {{.source = "/a:1", .target = "/b"}, "--mount type=bind,source=/a:1,target=/b"},
      {{.source = "/a,1", .target = "/b", .read_only = true},
       "--mount 'type=bind,\"source=/a,1\",target=/b,readonly'"},
      {{.source = "/a\"1", .target = "/b"}, "--mount 'type=bind,\"source=/a\"\"1\",target=/b'"},
      {{.source = "cache", .target = "/b:c", .is_volume = true},
       "--mount type=volume,source=cache,target=/b:c"},
  };
  for (const MountRow& row : table) {
    RunPlan plan = made_up_plan("");
    plan.mounts = {row.mount};

    EXPECT_EQ(line_of(plan), std::string{"docker run -it "} + row.words + " reg.test/a@sha256:1");
  }
}

TEST(RunArgv, ALaunchAddsItsMarks) {
  const LaunchExtras extras = {.name = "sparkrun-p-1",
                               .cidfile = "/run/cid",
                               .labels = {{"dev.sparkrun.run", "01"}},
                               .env = {{"SPARKRUN_RUN_ID", "01"}}};

  EXPECT_EQ(shell_join(run_argv(made_up_plan(""), &extras)),
            "docker run -it --name sparkrun-p-1 --cidfile /run/cid --label dev.sparkrun.run=01 "
            "-e SPARKRUN_RUN_ID=01 reg.test/a@sha256:1");
  EXPECT_EQ(shell_join(run_argv(made_up_plan("", named("mine")), &extras)),
            "docker run -it --name=mine --cidfile /run/cid --label dev.sparkrun.run=01 "
            "-e SPARKRUN_RUN_ID=01 reg.test/a@sha256:1");
}

TEST(RunArgv, ComesBackUnchangedFromARealShell) {
  RunPlan plan = made_up_plan("");
  plan.command = {
      "",      " ",     "a b",           "it's", "\"quoted\"", "$HOME", "`id`",    "$(id)",
      "\\",    "a\\nb", "a\nb",          "*",    "?",          "[a]",   "~",       "#x",
      "!x",    "a;b",   "a&b|c",         "<x>",  "{a,b}",      "=x",    "--x=y z", "\t",
      "é日本", "'''",   "a'b\"c$d`e\\f", "-n",   "%s",         "x=~",   "()",      "\x01"};
  plan.env = {{"A", "b c'd"}, {"JSON", R"({"method": "mtp", "n": 3})"}};
  plan.mounts = {{.source = "/it's, here: yes", .target = "/x y"}};

  const Strings argv = run_argv(plan);

  EXPECT_EQ(words_of_shell(shell_join(argv)), argv);
}

constexpr const char* full_profile = R"(
command = ["python3", "train.py"]
env_from_host = ["HF_TOKEN"]
[container]
remove = true
ipc = "host"
ulimits = { memlock = -1 }
network = "host"
publish = ["1:1"]
restart = "always"
user = "1000"
security_opt = ["no-new-privileges"]
device = ["/dev/infiniband"]
extra_args = ["-itv", "/data:/y", "--cap-add", "IPC_LOCK", "--new-flag=1", "--hostname=x"]
[env]
A = "1"
[[mount]]
source = "./finetuning"
target = "/x"
[[mount]]
source = "./new"
target = "/n"
create = true
[[mount]]
source = "volume"
target = "/v"
)";

TEST(ProbeArgv, HasWhatTheJobHasAndCannotChangeAnything) {
  RunPlan plan = made_up_plan(full_profile, named("mine"));
  plan.gpu = {.access = GpuAccess::runtime_and_gpus, .devices = "all"};

  EXPECT_EQ(
      shell_join(probe_argv(plan, {.name = "probe"})),
      "docker run --runtime=nvidia --gpus all -i --rm --network none --name probe --ipc=host "
      "--ulimit memlock=-1 --user=1000 --security-opt no-new-privileges --device /dev/infiniband "
      "--cap-add=IPC_LOCK -v /work/finetuning:/x:ro -e A=1 -e HF_TOKEN reg.test/a@sha256:1 sh -s");
}

TEST(ProbeArgv, ReplacesAnEntrypointWhereItIsAnApplication) {
  EXPECT_EQ(
      shell_join(probe_argv(made_up_plan(""), {.name = "probe", .entrypoint = "sh"})),
      "docker run -i --rm --network none --name probe --entrypoint sh reg.test/a@sha256:1 -s");
}

TEST(ProbeArgv, TakesThePlaceOfAnEntrypointThatTheProfileSets) {
  const char* const line =
      "docker run -i --rm --network none --name probe --entrypoint sh reg.test/a@sha256:1 -s";
  for (const char* const profile :
       {"[container]\nentrypoint = '/opt/vllm'", "[container]\nentrypoint = ''",
        "[container]\nextra_args = ['--entrypoint', 'bash']"}) {
    EXPECT_EQ(shell_join(probe_argv(made_up_plan(profile), {.name = "probe"})), line) << profile;
  }
}

TEST(ProbeArgv, NamesThePlatformOfAnIndex) {
  RunPlan plan = made_up_plan("");
  plan.image = {.run_as = std::string{"a/b@"} + index_digest,
                .index = index_digest,
                .platform = "linux/arm64"};

  EXPECT_NE(shell_join(probe_argv(plan, {.name = "p"})).find("--platform linux/arm64 a/b@"),
            std::string::npos);
}

}  // namespace
}  // namespace sparkrun::plan
