// SPDX-License-Identifier: MIT
#include "sys/host_facts.hpp"

#include "base/digest.hpp"
#include "support/temp_dir.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

namespace sparkrun::sys {
namespace {

using test::TempDir;

// What a DGX Spark has in these files.
void write_spark(const TempDir& root) {
  root.write(
      "proc/meminfo",
      "MemTotal:       125518784 kB\nMemFree:         1024 kB\nMemAvailable:   98304000 kB\n");
  root.write("proc/sys/kernel/random/boot_id", "0f0e0d0c-0000-4000-8000-000000000001\n");
  root.write("proc/driver/nvidia/version",
             "NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  580.95.05  Release Build  "
             "(dvs-builder@U22)\n"
             "GCC version:  gcc version 13.3.0 (Ubuntu 13.3.0-6ubuntu2~24.04)\n");
  root.write("etc/os-release",
             "NAME=\"Ubuntu\"\nVERSION_ID=\"24.04\"\nPRETTY_NAME=\"Ubuntu 24.04.3 LTS\"\n");
  root.write("etc/machine-id", "0123456789abcdef0123456789abcdef\n");
}

TEST(HostFacts, ReadsWhatAHostSaysOfItself) {
  const TempDir root;
  write_spark(root);

  const HostFacts facts = read_host_facts({.uid = getuid()}, root.path());

  EXPECT_EQ(facts.memory_total_kib, 125518784);
  EXPECT_EQ(facts.memory_available_kib, 98304000);
  EXPECT_EQ(facts.boot_id, "0f0e0d0c-0000-4000-8000-000000000001");
  EXPECT_EQ(facts.os, "Ubuntu 24.04.3 LTS");
  EXPECT_EQ(facts.driver, "580.95.05");
  EXPECT_FALSE(facts.kernel.empty());
  EXPECT_TRUE(facts.architecture == "amd64" || facts.architecture == "arm64") << facts.architecture;
  EXPECT_FALSE(facts.user.empty());
}

TEST(HostFacts, MakesTheIdOfMachineIdAndHostName) {
  const TempDir root;
  write_spark(root);

  const HostFacts facts = read_host_facts({.uid = getuid()}, root.path());

  EXPECT_EQ(
      facts.id,
      sha256_hex("sparkrun-host:0123456789abcdef0123456789abcdef:" + facts.hostname).substr(0, 16));
}

TEST(HostFacts, AreUnknownWhereFilesAreMissing) {
  const TempDir root;

  const HostFacts facts = read_host_facts({.uid = getuid()}, root.path());

  EXPECT_EQ(facts.memory_total_kib, -1);
  EXPECT_EQ(facts.memory_available_kib, -1);
  EXPECT_EQ(facts.driver, "");
  EXPECT_EQ(facts.os, "");
  EXPECT_EQ(facts.boot_id, "");
  EXPECT_EQ(facts.id, sha256_hex("sparkrun-host::" + facts.hostname).substr(0, 16));
}

TEST(HostFacts, AreUnknownWhereFilesHoldSomethingElse) {
  const TempDir root;
  root.write("proc/meminfo", "MemTotal: lots\n");
  root.write("proc/driver/nvidia/version", "NVRM version: none\n580.1.2\n");
  root.make("etc/os-release");

  const HostFacts facts = read_host_facts({.uid = getuid()}, root.path());

  EXPECT_EQ(facts.memory_total_kib, -1);
  EXPECT_EQ(facts.driver, "");
  EXPECT_EQ(facts.os, "");
}

TEST(HostFacts, UnderstandsTheProprietaryModulesLine) {
  const TempDir root;
  root.write(
      "proc/driver/nvidia/version",
      "NVRM version: NVIDIA UNIX aarch64 Kernel Module  550.54.15  Tue Mar  5 22:23:56 UTC 2024\n");

  EXPECT_EQ(read_host_facts({.uid = getuid()}, root.path()).driver, "550.54.15");
}

TEST(HostFacts, NamesAUserWithoutNameByNumber) {
  const TempDir root;

  EXPECT_EQ(read_host_facts({.uid = 3'999'999'999U}, root.path()).user, "3999999999");
}

}  // namespace
}  // namespace sparkrun::sys
