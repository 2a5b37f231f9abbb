// SPDX-License-Identifier: MIT
#pragma once

#include "config/settings.hpp"
#include "oci/registry.hpp"
#include "sys/system.hpp"

#include <functional>
#include <string>

namespace sparkrun::oci {

// What a registry client says while it works; either may be empty.
struct Talk {
  std::function<void(const std::string&)> notice;   // a registry makes us wait
  std::function<void(const std::string&)> warning;  // a stored login is refused, ...
};

// A registry client with this user's credentials, certificates and settings. Throws
// `credentials.invalid` and `file.unreadable`.
Registry connect(sys::System& system, const config::Settings& settings, Talk talk);

}  // namespace sparkrun::oci
