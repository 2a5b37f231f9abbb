// SPDX-License-Identifier: MIT
#pragma once

#include "profile/profile.hpp"
#include "profile/section.hpp"

namespace sparkrun::profile {

// Reads [ready]. `is_whole`: nothing will be merged below any more, so exactly one of `http` and
// `log` must be there; an empty text takes back what an extended profile says.
Readiness read_readiness(const TomlNode& table, bool is_whole, Faults& faults);

}  // namespace sparkrun::profile
