// SPDX-License-Identifier: MIT
#include "plan/gpu_access.hpp"

#include "base/error.hpp"
#include "support/error_of.hpp"

#include <gtest/gtest.h>

namespace sparkrun::plan {
namespace {

using engine::EngineFacts;
using profile::GpuAccess;

struct Choice {
  EngineFacts engine;
  GpuAccess chosen;
};

TEST(GpuAccess, AutoTakesWhatTheEngineOffers) {
  const std::vector<Choice> table = {
      {{.name = "docker", .runtimes = {"runc", "nvidia"}}, GpuAccess::runtime_and_gpus},
      {{.name = "docker", .runtimes = {"nvidia"}, .toolkit_mode = "auto", .has_nvidia_cdi = true},
       GpuAccess::runtime_and_gpus},
      {{.name = "docker", .runtimes = {"nvidia"}, .toolkit_mode = "cdi"}, GpuAccess::runtime},
      {{.name = "docker", .runtimes = {"runc"}, .has_nvidia_cdi = true}, GpuAccess::cdi},
      {{.name = "docker", .runtimes = {"runc"}}, GpuAccess::gpus},
      {{.name = "podman", .runtimes = {"crun", "nvidia"}}, GpuAccess::cdi},
  };
  for (const Choice& row : table) {
    const GpuChoice choice = choose_gpu_access({}, &row.engine);

    EXPECT_EQ(choice.access, row.chosen);
    EXPECT_EQ(choice.devices, "all");
    EXPECT_FALSE(choice.reason.empty());
  }
}

TEST(GpuAccess, AutoWithoutAnEngineIsTheDocumentedForm) {
  EXPECT_EQ(choose_gpu_access({}, nullptr).access, GpuAccess::runtime_and_gpus);
}

TEST(GpuAccess, AnExplicitWayIsKept) {
  const EngineFacts engine = {.name = "docker", .runtimes = {"nvidia"}, .has_nvidia_cdi = true};
  for (const GpuAccess access : {GpuAccess::runtime_and_gpus, GpuAccess::runtime, GpuAccess::gpus,
                                 GpuAccess::cdi, GpuAccess::none}) {
    EXPECT_EQ(choose_gpu_access({.access = access}, &engine).access, access);
    EXPECT_EQ(choose_gpu_access({.access = access}, nullptr).access, access);
  }
}

struct Lack {
  GpuAccess access;
  EngineFacts engine;
  std::string_view id;
};

TEST(GpuAccess, AnExplicitWayThatTheEngineLacksSaysWhatIsMissing) {
  const EngineFacts bare = {.name = "docker", .runtimes = {"runc", "crun"}};
  EngineFacts unregistered = bare, remote = bare;
  unregistered.has_toolkit = true;
  remote.is_remote = true;
  const EngineFacts podman = {.name = "podman", .version = "4.3.1", .runtimes = {"crun"}};
  const Lack table[] = {
      {GpuAccess::runtime_and_gpus, bare, "engine.toolkit_missing"},
      {GpuAccess::runtime, bare, "engine.toolkit_missing"},
      {GpuAccess::runtime, unregistered, "engine.runtime_missing"},
      {GpuAccess::runtime, remote, "engine.runtime_missing"},
      {GpuAccess::cdi, bare, "engine.cdi_missing"},
      {GpuAccess::cdi, podman, "engine.cdi_missing"},
      {GpuAccess::gpus, podman, "engine.gpu_access"},
      {GpuAccess::runtime, podman, "engine.gpu_access"},
  };
  for (const Lack& row : table) {
    const Error error =
        test::error_of([&] { choose_gpu_access({.access = row.access}, &row.engine); });

    EXPECT_EQ(error.id(), row.id) << error.what();
  }
  EXPECT_NO_THROW(choose_gpu_access({.access = GpuAccess::gpus}, &bare));
  EXPECT_NO_THROW(choose_gpu_access({.access = GpuAccess::cdi}, &remote));
}

TEST(GpuAccess, DevicesAreFoundAmongWhatElseTheFlagSays) {
  EXPECT_EQ(device_names("count=2"), (std::vector<std::string>{"0", "1"}));
  EXPECT_EQ(device_names("driver=nvidia,count=all"), std::vector<std::string>{"all"});
  EXPECT_EQ(device_names("capabilities=utility,\"device=1,GPU-8f\""),
            (std::vector<std::string>{"1", "GPU-8f"}));
  EXPECT_EQ(device_names("device=0"), std::vector<std::string>{"0"});
}

TEST(GpuAccess, DevicesOfTheCommandLineAskForAGpu) {
  profile::Profile profile;
  profile.gpu = {.access = GpuAccess::none, .devices = "all"};

  const profile::Gpu gpu = requested_gpu(profile, {.gpu_devices = "device=1"});

  EXPECT_EQ(gpu.access, GpuAccess::automatic);
  EXPECT_EQ(gpu.devices, "device=1");
}

TEST(GpuAccess, TheCommandLineOverridesTheProfile) {
  const profile::Profile profile = {.gpu = {.access = GpuAccess::cdi, .devices = "device=0"}};

  const profile::Gpu gpu = requested_gpu(profile, {.gpu_access = GpuAccess::none});

  EXPECT_EQ(gpu.access, GpuAccess::none);
  EXPECT_EQ(gpu.devices, "device=0");
  EXPECT_EQ(requested_gpu(profile, {}).access, GpuAccess::cdi);
}

struct Devices {
  const char* written;
  const char* gpus;
  std::vector<std::string> names;
};

TEST(GpuAccess, DevicesAreWrittenAsEachWayTakesThem) {
  const std::vector<Devices> table = {
      {"all", "all", {"all"}},
      {"device=0", "device=0", {"0"}},
      {"device=0,1", "\"device=0,1\"", {"0", "1"}},
      {"\"device=0,1\"", "\"device=0,1\"", {"0", "1"}},
      {"device=GPU-8f,GPU-9a", "\"device=GPU-8f,GPU-9a\"", {"GPU-8f", "GPU-9a"}},
      {"device=0,1,capabilities=utility", "\"device=0,1\",capabilities=utility", {"0", "1"}},
      {"all,capabilities=utility", "all,capabilities=utility", {"all"}},
      {"2", "2", {"0", "1"}},
  };
  for (const Devices& row : table) {
    EXPECT_EQ(gpus_value(row.written), row.gpus) << row.written;
    EXPECT_EQ(device_names(row.written), row.names) << row.written;
  }
}

}  // namespace
}  // namespace sparkrun::plan
