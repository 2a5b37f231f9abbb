// SPDX-License-Identifier: MIT
#pragma once

#include "profile/import/draft.hpp"

#include <map>
#include <string>
#include <string_view>

namespace sparkrun::profile {

using Exported = std::map<std::string, std::string>;

// `-e NAME=VALUE` and `-e NAME`: [env], or `env_from_host` for what comes from the host and for
// secrets, whose values are dropped. `exported`: what the text itself puts into docker's
// environment.
void import_variable(Draft& draft, const Word& word, const Exported& exported);

// Throws `import.inexpressible` for a secret among the words of the container's command, and warns
// of options that look like one.
void judge_command(Draft& draft);

}  // namespace sparkrun::profile
