// SPDX-License-Identifier: MIT
#pragma once

#include "engine/engine.hpp"

namespace sparkrun::engine {

// Docker: questions go to the Engine API over the local unix socket (no process, a millisecond);
// pulls and containers go through the `docker` client, whose terminal, progress and signal
// behaviour people know.
std::unique_ptr<Engine> open_docker(sys::System& system);

// The socket that docker's own client would use: DOCKER_HOST, else the current context, else the
// default. Throws `engine.unsupported` for tcp:// and ssh://.
sys::fs::path docker_socket(const sys::Environment& environment);

}  // namespace sparkrun::engine
