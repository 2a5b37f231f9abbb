// SPDX-License-Identifier: MIT
#include "base/text.hpp"
#include "preflight/check.hpp"

#include <fmt/format.h>

namespace sparkrun::preflight {
namespace {

CheckResult judge(const Subject& subject) {
  if (subject.plan == nullptr) return skipped("no image was named");
  if (subject.engine == nullptr) return skipped("the engine's platform is not known");
  const std::string& platform = subject.plan->image.platform;
  const auto parts = split(platform, '/');
  if (parts.size() < 2) return skipped("the image's platform is not known");
  const engine::EngineFacts& engine = *subject.engine;
  if (engine.os.empty() || engine.architecture.empty()) {
    return skipped("the engine does not say which platform it is on");
  }
  const std::string native = fmt::format("{}/{}", engine.os, engine.architecture);
  if (parts[0] != engine.os || parts[1] != engine.architecture) {
    return failed(fmt::format("the image is for {}, the engine runs on {}", platform, native),
                  fmt::format("choose an image with a build for {}, or name the platform with "
                              "`--platform {}` if the profile lists it",
                              native, native));
  }
  return passed(fmt::format("{}, as the engine", platform));
}

}  // namespace

extern const Check platform_check;
const Check platform_check{
    .id = "platform",
    .title = "the image is built for this machine",
    .is_blocking = true,
    .needs_probe = false,
    .judge = judge,
    .symptom =
        "`exec format error`, or `The requested image's platform (linux/amd64) does not match the "
        "detected host platform (linux/arm64)`",
    .cause =
        "DGX Spark is linux/arm64, and the image that would be run is for another platform. With "
        "an "
        "emulator installed it starts all the same, slowly and without the GPU.",
    .remedy =
        "Lock an image that has a build for this platform: `sparkrun resolve IMAGE "
        "--all-platforms` lists them.",
    .sources = "OCI image-spec, image-index.md, \"platform\"",
    .last_verified = "2026-07-14",
};

}  // namespace sparkrun::preflight
