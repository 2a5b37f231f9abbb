// SPDX-License-Identifier: MIT
#pragma once

#include "cli/arguments.hpp"
#include "cli/output.hpp"
#include "config/settings.hpp"
#include "oci/connect.hpp"

namespace sparkrun::cli {

// What the commands that may ask a registry have in common.
inline constexpr Option cacert_option{
    .name = "--cacert",
    .short_name = "",
    .takes = Takes::value,
    .value_name = "FILE",
    .summary = "PEM file of CAs that registries may be signed by, too",
    .completes = Values::file};
void apply_registry_options(const Arguments& arguments, config::Settings& settings);

// Says when a registry makes us wait (on a terminal, or with --verbose) and what it warns of.
// `output` outlives it.
oci::Talk registry_talk(Output& output);

}  // namespace sparkrun::cli
