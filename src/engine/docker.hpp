// SPDX-License-Identifier: MIT
#pragma once

#include "engine/client.hpp"

namespace sparkrun::engine {

// Docker. Where its socket is on this host and may be opened, questions go to the Engine API (no
// process, a millisecond); pulls and containers go through the `docker` client, whose terminal,
// progress and signal behaviour people know. With a command of one's own (`sudo -n docker`), and
// for an engine elsewhere (tcp://, ssh://), everything goes through the client.
std::unique_ptr<Engine> open_docker(std::vector<std::string> command, sys::System& system);

// What docker's own client would talk to: DOCKER_HOST, else the current context, else the default.
std::string docker_host(const sys::Environment& environment);

}  // namespace sparkrun::engine
