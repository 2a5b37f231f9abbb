// SPDX-License-Identifier: MIT
#pragma once

#include "sys/environment.hpp"

#include <string>

namespace sparkrun::sys {

// What is known of the machine without starting anything; unknown texts are empty, numbers -1.
struct HostFacts {
  std::string id;  // first 16 hex digits of SHA-256("sparkrun-host:" machine-id ":" hostname)
  std::string hostname;
  std::string boot_id;
  std::string os;  // PRETTY_NAME of os-release
  std::string kernel;
  std::string architecture;  // as in an OCI platform: arm64, amd64
  std::string user;
  std::string driver;  // of the NVIDIA kernel module
  long long memory_total_kib = -1;
  long long memory_available_kib = -1;
  // The most that a child of ours can lock in memory; -1: without limit.
  long long memlock_bytes_max = -1;
};

// `root` is where /proc and /etc are looked for; tests give a folder of their own.
HostFacts read_host_facts(const Environment& environment, const fs::path& root = "/");

}  // namespace sparkrun::sys
