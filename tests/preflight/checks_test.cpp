// SPDX-License-Identifier: MIT
#include "preflight/check.hpp"

#include <gtest/gtest.h>

namespace sparkrun::preflight {
namespace {

using profile::GpuAccess;
using Facts = std::map<std::string, std::string, std::less<>>;

// `fail: message`, for a check on these facts.
std::string judged(std::string_view id, const Subject& subject) {
  const CheckResult result = find_check(id)->judge(subject);
  const bool wants_fix = result.status == Status::warn || result.status == Status::fail;
  EXPECT_EQ(result.fix.empty(), !wants_fix) << result.message;
  return std::string{to_string(result.status)} + ": " + result.message;
}

std::string judged(std::string_view id, const Facts& facts, const plan::RunPlan* plan = nullptr) {
  const ProbeFacts probe{facts};
  return judged(id, {.probe = &probe, .plan = plan});
}

struct Case {
  Facts facts;
  std::string expected;
};

TEST(G1, JudgesTheCudaOfTorchAndItsRuntime) {
  const Case cases[] = {
      // NGC builds carry no +cu130.
      {{{"torch", "ok"},
        {"torch.version", "2.9.0a0+50eac811a6.nv25.09"},
        {"torch.cuda", "13.0"},
        {"cudart13", "yes"},
        {"ldconfig.cudart", "libcudart.so.13"}},
       "pass: torch 2.9.0a0+50eac811a6.nv25.09 built for CUDA 13.0"},
      {{{"torch", "ok"},
        {"torch.version", "2.14.0a0+4fdf77b940.nv26.8.63802676"},
        {"torch.cuda", "13.4"},
        {"cudart13", "yes"}},
       "pass: torch 2.14.0a0+4fdf77b940.nv26.8.63802676 built for CUDA 13.4"},
      // A wheel brings its own runtime, which only torch can load.
      {{{"torch", "ok"},
        {"torch.version", "2.10.0+cu130"},
        {"torch.cuda", "13.0"},
        {"cudart13", "no"},
        {"torch.cudart13", "yes"}},
       "pass: torch 2.10.0+cu130 built for CUDA 13.0"},
      {{{"torch", "ok"},
        {"torch.version", "2.10.0"},
        {"torch.cuda", "13.0"},
        {"cudart13", "no"},
        {"torch.cudart13", "no"},
        {"torch.available", "yes"}},
       "pass: torch 2.10.0 built for CUDA 13.0"},
      {{{"torch", "ok"},
        {"torch.version", "2.8.0+cu128"},
        {"torch.cuda", "12.8"},
        {"cudart13", "yes"}},
       "fail: torch 2.8.0+cu128 was built for CUDA 12.8, this system has CUDA 13"},
      {{{"torch", "ok"}, {"torch.version", "2.8.0"}, {"torch.cuda", "130.1"}},
       "fail: torch 2.8.0 was built for CUDA 130.1, this system has CUDA 13"},
      {{{"torch", "ok"}, {"torch.version", "2.8.0+cpu"}, {"torch.cuda", "none"}},
       "fail: torch 2.8.0+cpu was built without CUDA"},
      {{{"torch", "ok"},
        {"torch.version", "2.9.0"},
        {"torch.cuda", "13.0"},
        {"cudart13", "no"},
        {"cudart13.error", "libcudart.so.13: cannot open shared object file"}},
       "fail: torch 2.9.0 built for CUDA 13.0, but libcudart.so.13 cannot be loaded: "
       "libcudart.so.13: "
       "cannot open shared object file"},
      {{{"torch", "ok"},
        {"torch.version", "2.9.0"},
        {"torch.cuda", "13.0"},
        {"cudart13", "yes"},
        {"ldconfig.cudart", "libcudart.so.13 libcudart.so.12"}},
       "warn: torch 2.9.0 built for CUDA 13.0, but libcudart.so.12 is registered beside "
       "libcudart.so.13"},
      {{{"torch", "ok"}}, "skip: torch did not say what CUDA it was built for"},
      {{{"torch", "failed"},
        {"torch.error", "ImportError: libcudart.so.12: cannot open shared object file"}},
       "fail: torch is linked to libcudart.so.12, which a CUDA 13 system does not have"},
      {{{"torch", "failed"},
        {"torch.error", "ImportError: libcudart.so.13: cannot open shared object file"}},
       "fail: torch needs libcudart.so.13 and the image does not have it"},
      {{{"torch", "failed"}, {"torch.error", "ImportError: no numpy"}},
       "warn: torch cannot be imported: ImportError: no numpy"},
      {{{"torch", "timeout"}}, "skip: importing torch took too long to judge it"},
      {{{"torch", "absent"}, {"cudart13", "yes"}}, "pass: no torch, libcudart.so.13 is there"},
      {{{"python", "absent"}, {"ldconfig.cudart", "libcudart.so.13"}},
       "pass: no python, libcudart.so.13 is there"},
      {{{"python", "absent"}, {"ldconfig.cudart", "libcudart.so.12"}},
       "warn: no python, and libcudart.so.12 is the only CUDA runtime in the image"},
      {{{"python", "absent"}, {"ldconfig.cudart", ""}},
       "skip: no python and no libcudart: nothing to judge"},
      {{}, "skip: torch is unknown and no libcudart: nothing to judge"},
  };
  for (const Case& one : cases) EXPECT_EQ(judged("G1", one.facts), one.expected);
}

TEST(G9, TakesNoMarkerForUnknownAndNotForNo) {
  const Case cases[] = {
      {{{"container.dockerenv", "yes"}}, "pass: in a container (/.dockerenv)"},
      {{{"container.containerenv", "yes"}}, "pass: in a container (/run/.containerenv)"},
      {{{"container.dockerenv", "no"}, {"container.cgroup", "yes"}},
       "pass: in a container (cgroup)"},
      {{{"container.dockerenv", "no"},
        {"container.containerenv", "no"},
        {"container.cgroup", "no"}},
       "info: no marker of a container was found, which does not prove a bare host"},
      {{}, "info: no marker of a container was found, which does not prove a bare host"},
  };
  for (const Case& one : cases) EXPECT_EQ(judged("G9", one.facts), one.expected);
}

Facts with(Facts facts, const Facts& more) {
  for (const auto& [key, value] : more) facts[key] = value;
  return facts;
}

const Facts nodes_ok = {
    {"device.nvidia0", "ok"}, {"device.nvidiactl", "ok"}, {"device.nvidia_uvm", "ok"}};
const Facts nodes_missing = {{"device.nvidia0", "missing"},
                             {"device.nvidiactl", "missing"},
                             {"device.nvidia_uvm", "missing"}};
const Facts smi_ok = {{"nvidia_smi", "present"},
                      {"nvidia_smi.exit", "0"},
                      {"nvidia_smi.name", "NVIDIA GB10"},
                      {"nvidia_smi.count", "1"}};
const Facts torch_blind = {{"torch", "ok"}, {"torch.available", "no"}};
const Facts empty_visible = {{"env.CUDA_VISIBLE_DEVICES", "empty"}};

Facts visible(const std::string& value) {
  return {{"env.CUDA_VISIBLE_DEVICES", "set"}, {"env.CUDA_VISIBLE_DEVICES.value", value}};
}

TEST(GpuLadder, PassesWhenTorchOrNvidiaSmiSeesTheGpu) {
  const Case cases[] = {
      {{{"torch", "ok"}, {"torch.available", "yes"}, {"torch.capability", "12.1"}},
       "pass: torch sees the GPU (compute capability 12.1)"},
      {with(nodes_ok, smi_ok), "pass: nvidia-smi sees NVIDIA GB10"},
      {with(with(nodes_ok, smi_ok), {{"nvidia_smi.name", "NVIDIA JMJWOA-Generic-GPU"}}),
       "pass: nvidia-smi sees NVIDIA JMJWOA-Generic-GPU"},
      {with(with(nodes_ok, smi_ok), visible("0")), "pass: nvidia-smi sees NVIDIA GB10"},
      {with(with(nodes_ok, smi_ok), visible("GPU-5a2b6c1e")), "pass: nvidia-smi sees NVIDIA GB10"},
      {with(nodes_ok, {{"nvidia_smi", "absent"}}),
       "info: the device nodes are there; the image has neither torch nor nvidia-smi to ask"},
      {{}, "skip: the image told nothing about the GPU"},
  };
  for (const Case& one : cases) EXPECT_EQ(judged("gpu", one.facts), one.expected);
}

TEST(GpuLadder, NamesTheFirstCauseInTheOrderOfTheRungs) {
  const Facts everything_wrong = with(with(nodes_missing, empty_visible), torch_blind);
  const Facts uvm_missing = with(nodes_ok, {{"device.nvidia_uvm", "missing"}});
  const Case cases[] = {
      {everything_wrong, "fail: the container has no GPU device at all"},
      {with(nodes_missing,
            {{"env.NVIDIA_VISIBLE_DEVICES", "set"}, {"env.NVIDIA_VISIBLE_DEVICES.value", "void"}}),
       "fail: NVIDIA_VISIBLE_DEVICES=`void` tells the NVIDIA runtime to give no GPU"},
      {with(with(uvm_missing, empty_visible), torch_blind),
       "fail: CUDA_VISIBLE_DEVICES is set and empty, which hides every GPU"},
      // nvidia-smi does not read the variable.
      {with(with(nodes_ok, empty_visible), smi_ok),
       "fail: CUDA_VISIBLE_DEVICES is set and empty, which hides every GPU"},
      {with(with(nodes_ok, visible("1")), torch_blind),
       "fail: CUDA_VISIBLE_DEVICES=`1` names a device that does not exist (only 0 is here)"},
      {with(with(nodes_ok, visible("-1")), torch_blind),
       "fail: CUDA_VISIBLE_DEVICES=`-1` names a device that does not exist (only 0 is here)"},
      {with(with(nodes_ok, visible("2,0")), with(smi_ok, {{"nvidia_smi.count", "2"}})),
       "fail: CUDA_VISIBLE_DEVICES=`2,0` names a device that does not exist (0 to 1 are here)"},
      {with(uvm_missing, torch_blind), "fail: /dev/nvidia-uvm is not in the container"},
      {with(with(nodes_ok, {{"device.nvidiactl", "unreadable"}}), torch_blind),
       "fail: /dev/nvidiactl cannot be opened in the container"},
      {with(with(nodes_ok, torch_blind), {{"torch.warning", "CUDA unknown error"}}),
       "fail: the device nodes are there and torch sees no GPU: CUDA unknown error"},
      {with(nodes_ok, {{"nvidia_smi", "present"}, {"nvidia_smi.exit", "timeout"}}),
       "fail: nvidia-smi did not answer within 5 s: the driver hangs"},
      {with(nodes_ok, {{"nvidia_smi", "present"},
                       {"nvidia_smi.exit", "255"},
                       {"nvidia_smi.error", "Failed to initialize NVML: Unknown Error"}}),
       "fail: nvidia-smi fails: Failed to initialize NVML: Unknown Error"},
  };
  for (const Case& one : cases) EXPECT_EQ(judged("gpu", one.facts), one.expected);
}

TEST(GpuLadder, SaysWhatThePlanAskedFor) {
  plan::RunPlan plan;
  EXPECT_EQ(judged("gpu", nodes_missing, &plan), "skip: the profile asks for no GPU");

  plan.gpu.access = GpuAccess::cdi;
  EXPECT_EQ(
      judged("gpu", nodes_missing, &plan),
      "fail: the container has no GPU device at all although it was started with GPU access `cdi`");
}

struct EngineCase {
  engine::EngineFacts engine;
  GpuAccess access;
  std::string expected;
};

TEST(EngineCheck, WantsWhatTheGpuAccessNeeds) {
  const std::vector<std::string> both = {"nvidia", "runc"};
  const EngineCase cases[] = {
      {{.name = "docker", .version = "28.5.1", .runtimes = both},
       GpuAccess::runtime_and_gpus,
       "pass: docker 28.5.1 with the runtime nvidia"},
      {{.name = "docker", .runtimes = both, .toolkit_mode = "cdi"},
       GpuAccess::runtime,
       "pass: docker with the runtime nvidia"},
      {{.name = "docker", .runtimes = {"runc"}},
       GpuAccess::runtime,
       "fail: docker has no runtime called nvidia, which `runtime` needs"},
      {{.name = "docker", .runtimes = both, .toolkit_mode = "cdi"},
       GpuAccess::runtime_and_gpus,
       "fail: the NVIDIA Container Toolkit is in cdi mode and refuses `--gpus`"},
      {{.name = "docker", .has_nvidia_cdi = true},
       GpuAccess::cdi,
       "pass: docker with a CDI specification for nvidia.com/gpu"},
      {{.name = "docker"},
       GpuAccess::cdi,
       "fail: there is no CDI specification for nvidia.com/gpu"},
      {{.name = "docker", .is_remote = true},
       GpuAccess::cdi,
       "skip: the CDI specifications of a remote engine cannot be seen"},
      {{.name = "docker", .has_toolkit = true}, GpuAccess::gpus, "pass: docker"},
      {{.name = "docker"},
       GpuAccess::gpus,
       "warn: docker, and nothing of the NVIDIA Container Toolkit is installed here: `--gpus` will "
       "hardly work"},
      {{.name = "docker", .is_rootless = true}, GpuAccess::none, "pass: docker"},
      {{.name = "docker", .has_toolkit = true, .is_rootless = true},
       GpuAccess::gpus,
       "warn: docker, but it runs rootless and may not open the device nodes or raise the memlock "
       "limit"},
  };
  for (const EngineCase& one : cases) {
    plan::RunPlan plan;
    plan.gpu.access = one.access;
    EXPECT_EQ(judged("engine", {.engine = &one.engine, .plan = &plan}), one.expected);
  }
}

TEST(EngineCheck, FailsWithTheReasonWhenThereIsNoEngine) {
  EXPECT_EQ(judged("engine", {.engine_note = "the engine does not answer"}),
            "fail: the engine does not answer");
  EXPECT_EQ(judged("engine", Subject{}), "skip: the engine was not asked");
}

TEST(MemoryCheck, ComparesMemAvailableWithTheNeed) {
  plan::RunPlan plan;
  Subject subject{.plan = &plan};
  EXPECT_EQ(judged("memory", subject), "skip: /proc/meminfo does not tell MemAvailable");
  subject.host.memory_available_kib = 20LL << 20;
  EXPECT_EQ(judged("memory", subject), "info: 20.0 GiB available; the profile names no need");
  plan.profile.preflight.min_available_gib = 20;
  EXPECT_EQ(judged("memory", subject), "pass: 20.0 GiB available, 20 GiB needed");
  --subject.host.memory_available_kib;
  EXPECT_EQ(judged("memory", subject), "fail: 20.0 GiB available, the profile needs 20 GiB");
  const engine::EngineFacts remote{.is_remote = true};
  subject.engine = &remote;
  EXPECT_EQ(judged("memory", subject),
            "skip: the engine is remote: this host's memory is not the job's");
}

TEST(PlatformCheck, WantsTheEnginesOwn) {
  const engine::EngineFacts spark{.os = "linux", .architecture = "arm64"};
  const engine::EngineFacts silent;
  plan::RunPlan plan;
  const auto judge = [&](const std::string& platform, const engine::EngineFacts* engine) {
    plan.image.platform = platform;
    return judged("platform", {.engine = engine, .plan = &plan});
  };

  EXPECT_EQ(judge("linux/arm64", &spark), "pass: linux/arm64, as the engine");
  EXPECT_EQ(judge("linux/arm64/v8", &spark), "pass: linux/arm64/v8, as the engine");
  EXPECT_EQ(judge("linux/amd64", &spark),
            "fail: the image is for linux/amd64, the engine runs on linux/arm64");
  EXPECT_EQ(judge("", &spark), "skip: the image's platform is not known");
  EXPECT_EQ(judge("linux/arm64", &silent), "skip: the engine does not say which platform it is on");
  EXPECT_EQ(judge("linux/arm64", nullptr), "skip: the engine's platform is not known");
  EXPECT_EQ(judged("platform", {.engine = &spark}), "skip: no image was named");
}

TEST(PackagesCheck, ComparesVersionsWithThePins) {
  const Facts installed = {{"package.transformers", "5.13.1"},
                           {"package.unsloth-zoo", "2026.7.2"},
                           {"package.torch", "2.9.0+cu130"},
                           {"packages", "complete"}};
  const std::pair<std::map<std::string, std::string>, std::string> cases[] = {
      {{}, "skip: the profile pins no packages"},
      {{{"transformers", "==5.13.1"}}, "pass: 1 package as pinned"},
      {{{"Unsloth_Zoo", "==2026.07.2"}, {"torch", "==2.9.0"}}, "pass: 2 packages as pinned"},
      {{{"torch", "==2.9.0+cu130"}, {"transformers", "==5.13.*"}}, "pass: 2 packages as pinned"},
      {{{"torch", "==2.9.0+cu128"}}, "fail: torch is 2.9.0+cu130, 2.9.0+cu128 is wanted"},
      {{{"transformers", "==5.1.*"}}, "fail: transformers is 5.13.1, 5.1.* is wanted"},
      {{{"transformers", "==5.12.0"}, {"trl", "==1.8.0"}},
       "fail: transformers is 5.13.1, 5.12.0 is wanted; trl is not installed, 1.8.0 is wanted"},
      {{{"transformers", ">=5"}},
       "skip: not known: transformers (only `==` can be checked, not `>=5`)"},
  };
  for (const auto& [pins, expected] : cases) {
    plan::RunPlan plan;
    plan.profile.preflight.packages = pins;
    EXPECT_EQ(judged("packages", installed, &plan), expected);
  }
}

TEST(PackagesCheck, DoesNotTakeUnknownForAbsent) {
  plan::RunPlan plan;
  plan.profile.preflight.packages = {{"trl", "==1.8.0"}};

  EXPECT_EQ(judged("packages", {{"packages", "timeout"}}, &plan), "skip: not known: trl");
}

TEST(Checks, AreCatalogued) {
  for (const Check* const check : checks()) {
    EXPECT_FALSE(check->title.empty()) << check->id;
    EXPECT_FALSE(check->symptom.empty()) << check->id;
    EXPECT_FALSE(check->cause.empty()) << check->id;
    EXPECT_FALSE(check->remedy.empty()) << check->id;
    EXPECT_FALSE(check->sources.empty()) << check->id;
    EXPECT_EQ(find_check(check->id), check);
  }
  EXPECT_EQ(find_check("g1"), find_check("G1"));
  EXPECT_EQ(find_check("G99"), nullptr);
}

}  // namespace
}  // namespace sparkrun::preflight
