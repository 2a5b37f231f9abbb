// SPDX-License-Identifier: MIT
#include "engine/engine.hpp"

#include "base/error.hpp"
#include "engine/docker.hpp"
#include "engine/podman.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sparkrun::engine {
namespace {

// Docker where nothing is installed: what it then says is what most people need to hear.
std::string installed_engine(const sys::Environment& environment) {
  const bool has_podman_only =
      !environment.find_program("docker") && environment.find_program("podman");
  return has_podman_only ? "podman" : "docker";
}

}  // namespace

bool EngineFacts::has_runtime(std::string_view runtime) const {
  return std::ranges::find(runtimes, runtime) != runtimes.end();
}

std::unique_ptr<Engine> open(const Choice& choice, sys::System& system) {
  const std::string name = choice.name.empty() ? installed_engine(system.environment) : choice.name;
  std::vector<std::string> command = choice.command.empty() ? std::vector{name} : choice.command;
  if (name == "docker") return open_docker(std::move(command), system);
  if (name == "podman") return open_podman(std::move(command), system);
  throw Error{"engine.unsupported", fmt::format("there is no engine called `{}`", name)};
}

}  // namespace sparkrun::engine
