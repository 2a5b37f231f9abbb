// SPDX-License-Identifier: MIT
#include "plan/missing.hpp"

#include "base/error.hpp"
#include "base/text.hpp"

#include <fmt/format.h>

namespace sparkrun::plan {

void Missing::throw_if_any() const {
  std::vector<std::string> problems = files;
  for (const std::string& name : variables) {
    problems.push_back(fmt::format("the variable `{}` is not set", name));
  }
  if (problems.empty()) return;
  const std::string message =
      problems.size() == 1
          ? problems.front()
          : fmt::format("{} things that the run needs are missing", problems.size());
  if (files.empty()) {
    throw Error{"env.missing",
                message,
                {{"variable", variables.front()}, {"variables", join(variables, ", ")}},
                problems};
  }
  throw Error{"mount.missing", message, {}, problems};
}

}  // namespace sparkrun::plan
