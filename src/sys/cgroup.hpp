// SPDX-License-Identifier: MIT
#pragma once

#include "sys/files.hpp"

#include <optional>
#include <sys/types.h>

namespace sparkrun::sys {

// Bytes of memory that the control group of a process uses, less what the kernel would give back at
// once (inactive file pages), as `docker stats` counts it. Nothing where this host does not tell.
// Both versions of cgroups. `root` is where /proc and /sys are looked for.
std::optional<long long> group_memory(pid_t pid, const fs::path& root = "/");

}  // namespace sparkrun::sys
