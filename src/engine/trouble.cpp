// SPDX-License-Identifier: MIT
#include "engine/trouble.hpp"

#include "base/secret.hpp"
#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace sparkrun::engine {
namespace {

constexpr size_t words_length_max = 2000;

struct KnownText {
  std::string_view text;  // a part of what is printed
  Trouble trouble;
  std::string_view also = "";  // another part, where the first says too little
};

constexpr Trouble toolkit_missing{"engine.toolkit_missing",
                                  "the engine finds no NVIDIA Container Toolkit"};
constexpr Trouble runtime_missing{"engine.runtime_missing",
                                  "the engine has no runtime called nvidia"};
constexpr Trouble cdi_missing{"engine.cdi_missing",
                              "no CDI specification that fits describes the GPU"};
constexpr Trouble cdi_unsupported{"engine.cdi_unsupported",
                                  "this engine takes no CDI device names"};
constexpr Trouble driver_missing{
    "engine.driver_missing", "the NVIDIA driver is not loaded, or its library is another version"};
constexpr Trouble unreachable{"engine.unreachable", "the engine does not run"};
constexpr Trouble permission{"engine.permission", "you may not use the engine"};
constexpr Trouble port_taken{"engine.port_taken", "another program has the port"};
constexpr Trouble not_found{"registry.not_found", "the registry does not have it"};
constexpr Trouble login_needed{"registry.login_needed", "the registry wants a login"};
constexpr Trouble tls{"registry.tls", "no trustworthy TLS connection to the registry"};

// The first one that occurs counts, so the particular stands before the general. Sources:
// NVIDIA/dgx-spark-playbooks#26, NVIDIA/nvidia-container-toolkit#1537, eugr/spark-vllm-docker#129,
// containers/ramalama#940 and #944, docker/hub-feedback#2093, and the engines' own sources.
constexpr std::array known_texts = std::to_array<KnownText>({
    {R"(could not select device driver "cdi")", cdi_unsupported},
    {"could not select device driver", toolkit_missing},
    {"unknown or invalid runtime name: nvidia", runtime_missing},
    {"Unknown runtime specified nvidia", runtime_missing},
    {R"(default OCI runtime "nvidia" not found)", runtime_missing},
    {"invoking the NVIDIA Container Runtime Hook directly",
     {"engine.cdi_mode", "the toolkit is in cdi mode and refuses --gpus"}},
    {"unresolvable CDI devices", cdi_missing},
    {R"(custom device "nvidia.com/)", cdi_unsupported},
    {"is not an absolute path", cdi_unsupported, "nvidia.com/"},
    {"stat nvidia.com/", cdi_missing},
    {"unsatisfied condition: cuda",
     {"engine.driver_too_old", "the image needs a newer CUDA than the driver gives"}},
    {"nvml error: driver not loaded", driver_missing},
    {"driver/library version mismatch", driver_missing},
    {"load library failed: libnvidia-ml.so", driver_missing},
    {"error setting rlimit",
     {"engine.rlimit", "a limit (ulimit) is higher than the engine itself may have"}},
    {"setting rlimits",
     {"engine.rlimit", "a limit (ulimit) is higher than the engine itself may have"}},
    {"error gathering device information",
     {"engine.device_missing", "the host has no such device"}},
    {"exec format error",
     {"engine.wrong_architecture", "the image's programs are of another architecture"}},
    {"is already in use by", {"engine.name_taken", "another container has the name"}},
    {"port is already allocated", port_taken},
    {"address already in use", port_taken},
    {"no space left on device",
     {"engine.no_space", "the file system where the engine keeps images is full"}},
    {"the input device is not a TTY",
     {"engine.no_terminal", "standard input is not a terminal, and the job was to have one"}},
    {"permission denied while trying to connect", permission},
    {"docker.sock: connect: permission denied", permission},
    {"sudo: a password is required", permission},
    {"sudo: a terminal is required", permission},
    {"Cannot connect to the Docker daemon", unreachable},
    {"Is the docker daemon running", unreachable},
    {"error during connect", unreachable},
    {"toomanyrequests", {"registry.rate_limited", "the registry counts requests"}},
    {"manifest unknown", not_found},
    {"failed to resolve reference", not_found, ": not found"},
    {"no match for platform in manifest",
     {"registry.platform_missing", "the image has no build for the platform"}},
    {"pull access denied", login_needed},
    {"unauthorized", login_needed},
    {"failed to fetch anonymous token", login_needed},
    {"denied: requested access", login_needed},
    {"x509: certificate", tls},
    {"server gave HTTP response to HTTPS client", tls},
});

}  // namespace

std::optional<Trouble> recognise(std::string_view words) {
  const auto found = std::ranges::find_if(known_texts, [&](const KnownText& known) {
    return words.find(known.text) != std::string_view::npos &&
           words.find(known.also) != std::string_view::npos;
  });
  return found == known_texts.end() ? std::nullopt : std::optional{found->trouble};
}

Error refusal(const std::string& tried, std::string_view words, const std::string& registry) {
  const std::string said = redact(printable(trim(words).substr(0, words_length_max)));
  const auto trouble = recognise(words);
  if (!trouble) return Error{"engine.failed", fmt::format("{}: {}", tried, said)};
  return Error{trouble->id,
               fmt::format("{}: {}", tried, trouble->meaning),
               {{"registry", registry}},
               {"its own words: " + said}};
}

}  // namespace sparkrun::engine
