// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sparkrun::profile {

// `sudo -E docker container run --rm IMAGE`, taken apart.
struct RunLine {
  std::string engine;  // docker or podman
  bool has_sudo = false;
  std::vector<std::string> variables;      // `NAME=value` before the engine, with `env` and `sudo`
  std::span<const std::string> arguments;  // behind `run`
};

// Whether the words run a container.
bool is_run_line(std::span<const std::string> words);

// Whether a word could begin such a line: docker, podman, sudo.
bool can_begin_run_line(std::string_view word);

// Throws `import.inexpressible` for words that are no such line, or one with options before `run`.
RunLine split_run_line(std::span<const std::string> words);

}  // namespace sparkrun::profile
