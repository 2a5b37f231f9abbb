// SPDX-License-Identifier: MIT
#include "oci/image_config.hpp"

#include "base/error.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace sparkrun::oci {
namespace {

const std::string a = "sha256:" + std::string(64, 'a');
const std::string b = "sha256:" + std::string(64, 'b');

TEST(ImageConfig, ReadsWhatARunNeedsToKnow) {
  const ImageConfig config = parse_image_config(fmt::format(
      R"({{"created":"2026-07-02T11:04:19Z","os":"linux","architecture":"arm64","variant":"v8",
      "config":{{"Env":["PATH=/bin","CUDA_VERSION=13.0.1"],"Entrypoint":["/opt/entry.sh"],"Cmd":["bash"],
      "User":"1000","WorkingDir":"/workspace","Labels":{{"k":"v"}}}},
      "rootfs":{{"type":"layers","diff_ids":["{}","{}"]}}}})",
      a, b));

  EXPECT_EQ(config.platform, Platform::parse("linux/arm64"));
  EXPECT_EQ(config.created, "2026-07-02T11:04:19Z");
  EXPECT_EQ(config.env, (std::vector<std::string>{"PATH=/bin", "CUDA_VERSION=13.0.1"}));
  EXPECT_EQ(config.entrypoint, (std::vector<std::string>{"/opt/entry.sh"}));
  EXPECT_EQ(config.command, (std::vector<std::string>{"bash"}));
  EXPECT_EQ(config.user, "1000");
  EXPECT_EQ(config.working_directory, "/workspace");
  EXPECT_EQ(config.labels, (std::map<std::string, std::string>{{"k", "v"}}));
  EXPECT_EQ(config.diff_ids, (std::vector{Digest::parse(a), Digest::parse(b)}));
}

TEST(ImageConfig, MayLeaveOutAllButPlatformAndLayers) {
  const ImageConfig config = parse_image_config(fmt::format(
      R"({{"os":"linux","architecture":"amd64","config":{{"Env":null,"Cmd":null}},"rootfs":{{"diff_ids":["{}"]}}}})",
      a));

  EXPECT_TRUE(config.created.empty());
  EXPECT_TRUE(config.env.empty());
  EXPECT_TRUE(config.command.empty());
}

TEST(ImageConfig, RefusesTheConfigsOfOtherArtifacts) {
  for (const std::string body :
       {"", "{}", "[]", R"({"os":"linux"})", R"({"os":"linux","architecture":"arm64"})",
        R"({"os":"linux","architecture":"arm64","rootfs":{"diff_ids":[]}})",
        R"({"os":"linux","architecture":"arm64","rootfs":{"diff_ids":[1]}})",
        R"({"os":"linux","architecture":"arm64","rootfs":{"diff_ids":["sha256:x"]}})"}) {
    try {
      static_cast<void>(parse_image_config(body));
      ADD_FAILURE() << body;
    } catch (const Error& error) {
      EXPECT_EQ(error.id(), "registry.not_a_registry");
    }
  }
}

TEST(ChainId, OfOneLayerIsThatLayer) {
  EXPECT_EQ(chain_id(std::vector{Digest::parse(a)}), Digest::parse(a));
}

// Computed by hand: printf 'sha256:aa.. sha256:bb..' | sha256sum, then the same with `sha256:cc..`.
TEST(ChainId, OfMoreLayersHashesTheChainBelowWithEachLayer) {
  const Digest c = Digest::parse("sha256:" + std::string(64, 'c'));

  EXPECT_EQ(chain_id(std::vector{Digest::parse(a), Digest::parse(b)}).to_string(),
            "sha256:ccd722928bd92476ba1745586fed6e45a102504185ad88cd89e01ff116fd146c");
  EXPECT_EQ(chain_id(std::vector{Digest::parse(a), Digest::parse(b), c}).to_string(),
            "sha256:c1377126441fb2f5ec2c21ae2a60255331d639e830f0ee1b40a36e52d4c40588");
  EXPECT_NE(chain_id(std::vector{Digest::parse(b), Digest::parse(a)}),
            chain_id(std::vector{Digest::parse(a), Digest::parse(b)}));
}

}  // namespace
}  // namespace sparkrun::oci
