// SPDX-License-Identifier: MIT
#include "profile/values.hpp"

#include "profile/profile.hpp"

#include <gtest/gtest.h>

namespace sparkrun::profile {
namespace {

TEST(Values, SizesAreWhatDockerReads) {
  for (const char* const good :
       {"0", "512", "16g", "64gb", "1G", "1GB", "256m", "1.5g", "512 MiB", "2kib", "8B"}) {
    EXPECT_TRUE(is_size(good)) << good;
  }
  for (const char* const bad :
       {"", "g", "-1", "16x", "16 g b", "1.2.3g", "16  g", "1.g", "sixteen"}) {
    EXPECT_FALSE(is_size(bad)) << bad;
  }
}

TEST(Values, NumbersMayBeNegativeOrHaveAFraction) {
  for (const char* const good : {"0", "-1", "512", "1.5"}) EXPECT_TRUE(is_number(good)) << good;
  for (const char* const bad : {"", "-", ".", "1.", ".5", "1e3", "inf", "nan", "0x10"}) {
    EXPECT_FALSE(is_number(bad)) << bad;
  }
}

TEST(Values, VariableNamesArePosix) {
  for (const char* const good : {"A", "_", "HF_TOKEN", "a1"})
    EXPECT_TRUE(is_variable_name(good)) << good;
  for (const char* const bad : {"", "1A", "A-B", "A B", "A=B", "A\n", "\xc3\xa4"}) {
    EXPECT_FALSE(is_variable_name(bad)) << bad;
  }
}

TEST(Values, AVolumeNameIsNoPath) {
  for (const char* const good : {"hf-cache", "data_1", "my.volume", "V2"})
    EXPECT_TRUE(is_volume_name(good)) << good;
  for (const char* const bad :
       {"", "./x", "../x", "/x", "~/x", "${X}", "a/b", "a", ".hidden", "a b"}) {
    EXPECT_FALSE(is_volume_name(bad)) << bad;
  }
}

TEST(Values, ProfileNamesCannotBePathsOrOptions) {
  for (const std::string& good :
       {std::string{"pytorch"}, std::string{"0"}, std::string{"a_b-c"}, std::string(63, 'x')}) {
    EXPECT_TRUE(is_profile_name(good)) << good;
  }
  for (const std::string& bad :
       {std::string{}, std::string{"-x"}, std::string{"_x"}, std::string{"A"}, std::string{"a.b"},
        std::string{"../x"}, std::string{"a b"}, std::string(64, 'x')}) {
    EXPECT_FALSE(is_profile_name(bad)) << bad;
  }
}

TEST(Values, GpuAccessIsTheSameAfterWritingAndReading) {
  for (const GpuAccess access :
       {GpuAccess::automatic, GpuAccess::runtime_and_gpus, GpuAccess::runtime, GpuAccess::gpus,
        GpuAccess::cdi, GpuAccess::none}) {
    EXPECT_EQ(parse_gpu_access(to_string(access)), access);
  }
  EXPECT_EQ(parse_gpu_access("all"), std::nullopt);
}

}  // namespace
}  // namespace sparkrun::profile
