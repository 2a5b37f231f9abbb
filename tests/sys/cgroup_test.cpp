// SPDX-License-Identifier: MIT
#include "sys/cgroup.hpp"

#include "support/temp_dir.hpp"

#include <gtest/gtest.h>

namespace sparkrun::sys {
namespace {

TEST(GroupMemory, ReadsVersionTwo) {
  const test::TempDir root;
  root.write("proc/7/cgroup", "0::/system.slice/docker-1.scope\n");
  root.write("sys/fs/cgroup/system.slice/docker-1.scope/memory.current", "1000\n");
  root.write("sys/fs/cgroup/system.slice/docker-1.scope/memory.stat",
             "anon 500\ninactive_file 300\n");

  EXPECT_EQ(group_memory(7, root / ""), 700);
}

TEST(GroupMemory, ReadsVersionOne) {
  const test::TempDir root;
  root.write("proc/7/cgroup", "12:cpu,cpuacct:/docker/1\n9:memory:/docker/1\n");
  root.write("sys/fs/cgroup/memory/docker/1/memory.usage_in_bytes", "1000\n");
  root.write("sys/fs/cgroup/memory/docker/1/memory.stat",
             "inactive_file 1\ntotal_inactive_file 400\n");

  EXPECT_EQ(group_memory(7, root / ""), 600);
}

TEST(GroupMemory, WhatTheHostDoesNotTellIsUnknown) {
  const test::TempDir root;
  root.write("proc/8/cgroup", "0::/../../etc\n");

  EXPECT_EQ(group_memory(0, root / ""), std::nullopt);
  EXPECT_EQ(group_memory(7, root / ""), std::nullopt);
  EXPECT_EQ(group_memory(8, root / ""), std::nullopt);
}

}  // namespace
}  // namespace sparkrun::sys
