// SPDX-License-Identifier: MIT
#pragma once

#include "base/json.hpp"

namespace sparkrun::profile {

// The form of a profile as a JSON Schema (draft 7), for editors: `[container]` follows options().
// The reader is stricter: it knows what a size, a tag and a platform are. data/profile.schema.json
// holds the same, and a test keeps it so.
Json profile_schema();

}  // namespace sparkrun::profile
