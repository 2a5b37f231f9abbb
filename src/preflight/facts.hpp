// SPDX-License-Identifier: MIT
#pragma once

#include "preflight/check.hpp"

#include <optional>
#include <string_view>

namespace sparkrun::preflight {

constexpr size_t probe_output_bytes_max = size_t{4} << 20;
constexpr size_t probe_facts_max = 5000;
constexpr size_t probe_value_bytes_max = 400;  // probe.sh keeps to it as well

// The facts that probe.sh printed between its markers with this nonce; what an entrypoint says
// before and after is passed over, and so are lines that are not facts. Nothing when the first
// marker is missing. Without the last marker (the probe was stopped, or its output cut) the facts
// until then count, and `probe` is `cut` instead of `complete`.
//
// Keys (a fact that could not be told is absent):
//   container.dockerenv, container.containerenv, container.cgroup     yes | no
//   env.NAME  set | empty | unset, env.NAME.value                     of CUDA_VISIBLE_DEVICES,
//                                                      NVIDIA_VISIBLE_DEVICES, CUDA_VERSION
//   arch                                                              as `uname -m`
//   ldconfig.cudart                                    names, separated by blanks; may be empty
//   device.nvidia0, device.nvidiactl, device.nvidia_uvm               ok | missing | unreadable
//   nvidia_smi  present | absent, nvidia_smi.exit  number | timeout,
//   nvidia_smi.error, .name, .driver, .compute_cap, .count
//   python  path | absent, python.version
//   cudart13  yes | no, cudart13.error                 whether libcudart.so.13 can be loaded
//   torch  ok | failed | absent | timeout, torch.error, torch.version,
//   torch.cuda  version | none, torch.cudart13  yes | no (with torch loaded),
//   torch.available  yes | no, torch.warning, torch.device_count, torch.capability
//   package.NAME  version (NAME as in PEP 503), packages  complete | cut | timeout | failed: ..
std::optional<ProbeFacts> parse_probe_output(std::string_view text, std::string_view nonce);

// Lower case, with `-` for each run of `-`, `_` and `.` (PEP 503).
std::string normalized_package_name(std::string_view name);

}  // namespace sparkrun::preflight
