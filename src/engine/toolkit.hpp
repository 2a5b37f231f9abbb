// SPDX-License-Identifier: MIT
#pragma once

#include "sys/environment.hpp"

#include <string>
#include <vector>

namespace sparkrun::engine {

// What this host tells of NVIDIA's container toolkit, without starting anything.

// `mode` of /etc/nvidia-container-runtime/config.toml: auto, legacy, cdi; empty: unknown.
std::string toolkit_mode();

// Whether one of its programs is on PATH or where its packages put them.
bool has_toolkit(const sys::Environment& environment);

// Whether one of the folders holds a specification for nvidia.com/gpu (CDI SPEC.md, "kind").
bool has_nvidia_specification(const std::vector<std::string>& folders);

}  // namespace sparkrun::engine
