// SPDX-License-Identifier: MIT
#include "oci/platform.hpp"

#include "base/error.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace sparkrun::oci {
namespace {

TEST(Platform, HasOneSpelling) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"linux/arm64", "linux/arm64"},       {"linux/arm64/v8", "linux/arm64"},
      {"linux/aarch64", "linux/arm64"},     {"linux/aarch64/v8", "linux/arm64"},
      {"linux/x86_64", "linux/amd64"},      {"Linux/AMD64", "linux/amd64"},
      {"linux/arm", "linux/arm/v7"},        {"linux/arm/v6", "linux/arm/v6"},
      {"linux/arm64/v9", "linux/arm64/v9"}, {"windows/amd64", "windows/amd64"},
  };
  for (const auto& [text, normal] : rows) {
    EXPECT_EQ(Platform::parse(text).to_string(), normal);
    EXPECT_EQ(Platform::parse(normal).to_string(), normal);
  }
}

TEST(Platform, RefusesWhatIsNotOsAndArchitecture) {
  for (const std::string text : {"", "arm64", "linux/", "/arm64", "linux//v8", "linux/arm64/v8/x",
                                 "linux arm64", "a/\x1b"}) {
    try {
      static_cast<void>(Platform::parse(text));
      FAIL() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.id(), "platform.malformed");
    }
  }
}

TEST(Platform, RunsWhereEqualOrWhereItIsTheBaseline) {
  const auto runs = [](const std::string& image, const std::string& machine) {
    return Platform::parse(image).matches(Platform::parse(machine));
  };

  EXPECT_TRUE(runs("linux/arm64", "linux/arm64/v8"));
  EXPECT_TRUE(runs("linux/arm64/v8", "linux/arm64"));
  EXPECT_TRUE(runs("linux/arm64", "linux/arm64/v9"));
  EXPECT_FALSE(runs("linux/arm64/v9", "linux/arm64"));
  EXPECT_FALSE(runs("linux/amd64", "linux/arm64"));
  EXPECT_FALSE(runs("windows/arm64", "linux/arm64"));
  EXPECT_FALSE(runs("linux/arm/v7", "linux/arm/v6"));
}

TEST(Platform, KnowsTheOneOfAttestations) {
  EXPECT_TRUE(Platform::parse("unknown/unknown").is_unknown());
  EXPECT_FALSE(Platform::parse("linux/arm64").is_unknown());
}

}  // namespace
}  // namespace sparkrun::oci
