// SPDX-License-Identifier: MIT
#pragma once

#include "cli/arguments.hpp"
#include "cli/output.hpp"
#include "config/settings.hpp"
#include "oci/connect.hpp"

namespace sparkrun::cli {

// `--cacert` of the commands that may ask a registry.
void apply_registry_options(const Arguments& arguments, config::Settings& settings);

// Says when a registry makes us wait (on a terminal, or with --verbose) and what it warns of.
// `output` outlives it.
oci::Talk registry_talk(Output& output);

}  // namespace sparkrun::cli
