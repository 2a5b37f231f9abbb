// SPDX-License-Identifier: MIT
#include "engine/engine.hpp"

#include "base/error.hpp"
#include "engine/docker.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sparkrun::engine {

bool EngineFacts::has_runtime(std::string_view runtime) const {
  return std::ranges::find(runtimes, runtime) != runtimes.end();
}

std::unique_ptr<Engine> open(std::string_view name, sys::System& system) {
  if (name.empty() || name == "docker") return open_docker(system);
  throw Error{"engine.unsupported", fmt::format("the engine `{}` is not supported yet", name)};
}

}  // namespace sparkrun::engine
