// SPDX-License-Identifier: MIT
#pragma once

#include "base/error.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace sparkrun::engine {

// What an engine's own words mean, where they are a known text.
struct Trouble {
  std::string_view id;       // in the error table, which has the way out
  std::string_view meaning;  // `the engine has no runtime called nvidia`
};

// The trouble that `words` (what an engine's client printed) tell of; nothing when nobody knows
// them. The texts are those of docker 20 to 29, podman 4 and 5 and the NVIDIA Container Toolkit.
std::optional<Trouble> recognise(std::string_view words);

// `tried` (`docker could not pull X`) with the engine's words and, where it is known, their
// meaning. `engine.failed` where it is not. `registry`: whom a pull asked; its errors name it.
Error refusal(const std::string& tried, std::string_view words, const std::string& registry = "");

}  // namespace sparkrun::engine
