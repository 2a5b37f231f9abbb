// SPDX-License-Identifier: MIT
#include "engine/trouble.hpp"

#include <gtest/gtest.h>

namespace sparkrun::engine {
namespace {

struct Row {
  std::string_view words;
  std::string_view id;
};

// As docker 20.10, 26.1 and 28 and podman 4.3 print them, and as reports quote them.
constexpr Row table[] = {
    {R"(docker: Error response from daemon: could not select device driver "" with capabilities: [[gpu]].)",
     "engine.toolkit_missing"},
    {R"(docker: Error response from daemon: could not select device driver "cdi" with capabilities: [].)",
     "engine.cdi_unsupported"},
    {"docker: Error response from daemon: unknown or invalid runtime name: nvidia.",
     "engine.runtime_missing"},
    {"docker: Error response from daemon: Unknown runtime specified nvidia.",
     "engine.runtime_missing"},
    {R"(Error: default OCI runtime "nvidia" not found: invalid argument)",
     "engine.runtime_missing"},
    {"invoking the NVIDIA Container Runtime Hook directly (e.g. specifying the docker --gpus flag) "
     "is not supported",
     "engine.cdi_mode"},
    {"docker: Error response from daemon: CDI device injection failed: unresolvable CDI devices "
     "nvidia.com/gpu=7.",
     "engine.cdi_missing"},
    {"Error: setting up CDI devices: unresolvable CDI devices nvidia.com/gpu=7",
     "engine.cdi_missing"},
    {"docker: nvidia.com/gpu=all is not an absolute path.", "engine.cdi_unsupported"},
    {R"(error gathering device information while adding custom device "nvidia.com/gpu=all": no such file)",
     "engine.cdi_unsupported"},
    {R"(error gathering device information while adding custom device "/dev/infiniband": no such file)",
     "engine.device_missing"},
    {"nvidia-container-cli: requirement error: unsatisfied condition: cuda>=13.0",
     "engine.driver_too_old"},
    {"nvidia-container-cli: initialization error: nvml error: driver not loaded",
     "engine.driver_missing"},
    {"Failed to initialize NVML: Driver/library version mismatch: driver/library version mismatch",
     "engine.driver_missing"},
    {"OCI runtime create failed: error setting rlimit type 8: operation not permitted",
     "engine.rlimit"},
    {"exec /bin/sh: exec format error", "engine.wrong_architecture"},
    {R"(Conflict. The container name "/two" is already in use by container "207c")",
     "engine.name_taken"},
    {R"(creating container storage: the container name "two" is already in use by 207c)",
     "engine.name_taken"},
    {"Bind for 0.0.0.0:8000 failed: port is already allocated.", "engine.port_taken"},
    {"listen tcp4 0.0.0.0:8000: bind: address already in use", "engine.port_taken"},
    {"write /var/lib/docker/tmp/GetImageBlob1: no space left on device", "engine.no_space"},
    {"the input device is not a TTY", "engine.no_terminal"},
    {"permission denied while trying to connect to the Docker daemon socket at "
     "unix:///var/run/docker.sock",
     "engine.permission"},
    {"sudo: a password is required", "engine.permission"},
    {"Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon "
     "running?",
     "engine.unreachable"},
    {"toomanyrequests: You have reached your pull rate limit.", "registry.rate_limited"},
    {"reading manifest 1 in reg.test/nothing: manifest unknown: manifest unknown",
     "registry.not_found"},
    {R"(failed to resolve reference "reg.test/a@sha256:00": reg.test/a@sha256:00: not found)",
     "registry.not_found"},
    {"no match for platform in manifest: not found", "registry.platform_missing"},
    {"pull access denied for a, repository does not exist or may require 'docker login'",
     "registry.login_needed"},
    {"unauthorized: authentication required", "registry.login_needed"},
    {"x509: certificate signed by unknown authority", "registry.tls"},
};

TEST(Trouble, IsRecognisedInTheWordsOfEngines) {
  for (const Row& row : table) {
    const auto trouble = recognise(row.words);

    ASSERT_TRUE(trouble) << row.words;
    EXPECT_EQ(trouble->id, row.id) << row.words;
    EXPECT_NE(find_error_kind(trouble->id), nullptr) << trouble->id;
  }
  EXPECT_FALSE(recognise("no such file or directory"));
  EXPECT_FALSE(recognise(""));
}

TEST(Trouble, IsToldWithItsMeaningAndTheEnginesOwnWords) {
  const Error error = refusal("docker could not pull a", " unauthorized: \x1b[31mno\n", "reg.test");

  EXPECT_EQ(error.id(), "registry.login_needed");
  EXPECT_STREQ(error.what(), "docker could not pull a: the registry wants a login");
  EXPECT_EQ(error.problems(), std::vector<std::string>{"its own words: unauthorized: ?[31mno"});
  EXPECT_NE(error.hint().find("docker login reg.test"), std::string::npos);
}

TEST(Trouble, ThatNobodyKnowsIsQuotedWithoutItsSecrets) {
  const Error error = refusal("docker could not start", "HF_TOKEN=abcdefghijklmnop failed");

  EXPECT_EQ(error.id(), "engine.failed");
  EXPECT_STREQ(error.what(), "docker could not start: HF_TOKEN=[redacted] failed");
}

}  // namespace
}  // namespace sparkrun::engine
