// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

namespace sparkrun::plan {

// What stands in the way of a run; all of it is said at once.
struct Missing {
  std::vector<std::string> files;      // one line each: sources of mounts, env files, ...
  std::vector<std::string> variables;  // names

  // `mount.missing` or `env.missing`.
  void throw_if_any() const;
};

}  // namespace sparkrun::plan
