// SPDX-License-Identifier: MIT
#include "sys/shared_lock.hpp"

#include "base/error.hpp"
#include "support/error_of.hpp"
#include "support/temp_dir.hpp"

#include <gtest/gtest.h>

#include <sys/stat.h>

namespace sparkrun::sys {
namespace {

TEST(SharedLock, IsForOneAtATimeAndForEverybody) {
  const test::TempDir folder;
  const mode_t before = umask(077);
  SharedLock other{folder / "lock"};
  umask(before);
  {
    SharedLock first{folder / "lock"};
    EXPECT_TRUE(first.try_take());
    EXPECT_FALSE(other.try_take());
    first.set_content("a long text");
    first.set_content("it is me");
    EXPECT_EQ(other.content(), "it is me");
  }
  EXPECT_TRUE(other.try_take());
  EXPECT_EQ(fs::status(folder / "lock").permissions(), fs::perms{0666});
}

TEST(SharedLock, FollowsNoLink) {
  const test::TempDir folder;
  folder.write("target", "x");
  fs::create_symlink(folder / "target", folder / "lock");

  EXPECT_EQ(test::error_of([&] { SharedLock{folder / "lock"}; }).id(), "file.unwritable");
}

}  // namespace
}  // namespace sparkrun::sys
