// SPDX-License-Identifier: MIT
#include "run/pull.hpp"

#include <gtest/gtest.h>

namespace sparkrun::run {
namespace {

constexpr long long gib = 1LL << 30;

TEST(CudaOfDriver, FollowsNvidiasReleaseNotes) {
  EXPECT_EQ(cuda_major_of_driver("580.95.05"), 13);
  EXPECT_EQ(cuda_major_of_driver("610.43.02"), 13);
  EXPECT_EQ(cuda_major_of_driver("579.99"), 12);
  EXPECT_EQ(cuda_major_of_driver("450.80.02"), 11);
  EXPECT_EQ(cuda_major_of_driver("390.1"), std::nullopt);
  EXPECT_EQ(cuda_major_of_driver(""), std::nullopt);
}

class ForeseePull : public testing::Test {
 protected:
  std::vector<std::string> foresee(long long download, std::optional<long long> free_bytes,
                                   const std::string& driver = "", const std::string& cuda = "") {
    image.download_bytes = download;
    image.cuda_version = cuda;
    return foresee_pull(
        {.image = image, .engine = engine, .driver = driver, .free_bytes = free_bytes});
  }

  plan::PinnedImage image{.run_as = "reg.test/a@sha256:0123456789abcdef"};
  engine::EngineFacts engine{.root_directory = "/var/lib/docker"};
};

TEST_F(ForeseePull, HasNothingToSayWhereNothingIsKnown) {
  EXPECT_TRUE(foresee(-1, 0).empty());
  EXPECT_TRUE(foresee(10 * gib, std::nullopt).empty());
  EXPECT_TRUE(foresee(10 * gib, 30 * gib).empty());
}

TEST_F(ForeseePull, WarnsOfWhatMayNotFit) {
  EXPECT_EQ(foresee(10 * gib, 10 * gib - 1),
            std::vector<std::string>{"10.0 GiB to download, and /var/lib/docker has 10.0 GiB left: "
                                     "it will hardly fit"});
  EXPECT_EQ(foresee(10 * gib, 30 * gib - 1),
            std::vector<std::string>{"10.0 GiB to download and more when unpacked, and "
                                     "/var/lib/docker has 30.0 GiB left: it may not fit"});
}

TEST_F(ForeseePull, WarnsOfACudaThatTheDriverDoesNotKnow) {
  EXPECT_EQ(foresee(-1, {}, "550.54.15", "13.0.1.012"),
            std::vector<std::string>{"the image is built for CUDA 13.0.1.012, and driver 550.54.15 "
                                     "gives CUDA 12 at most: the job may find no GPU"});
  EXPECT_TRUE(foresee(-1, {}, "580.95.05", "13.0.1.012").empty());
  EXPECT_TRUE(foresee(-1, {}, "580.95.05", "12.8").empty());
  EXPECT_TRUE(foresee(-1, {}, "", "13.0").empty());
}

}  // namespace
}  // namespace sparkrun::run
