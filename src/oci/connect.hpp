// SPDX-License-Identifier: MIT
#pragma once

#include "config/settings.hpp"
#include "oci/registry.hpp"
#include "sys/system.hpp"

#include <functional>
#include <string>

namespace sparkrun::oci {

using Notice = std::function<void(const std::string&)>;

// A registry client with this user's credentials, certificates and settings; `notice` is told when
// a registry makes us wait. Throws `credentials.invalid` and `file.unreadable`.
Registry connect(sys::System& system, const config::Settings& settings, Notice notice);

}  // namespace sparkrun::oci
