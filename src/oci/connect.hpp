// SPDX-License-Identifier: MIT
#pragma once

#include "config/settings.hpp"
#include "oci/registry.hpp"
#include "sys/system.hpp"

namespace sparkrun::oci {

// A registry client with this user's credentials and settings. Reads docker's config.json; throws
// `credentials.invalid` and `file.unreadable`.
Registry connect(sys::System& system, const config::Settings& settings);

}  // namespace sparkrun::oci
