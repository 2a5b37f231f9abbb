// SPDX-License-Identifier: MIT
#pragma once

#include "engine/client.hpp"

namespace sparkrun::engine {

// Podman has no daemon: everything is its client.
std::unique_ptr<Engine> open_podman(std::vector<std::string> command, sys::System& system);

}  // namespace sparkrun::engine
