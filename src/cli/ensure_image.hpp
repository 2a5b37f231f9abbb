// SPDX-License-Identifier: MIT
#pragma once

#include "cli/command.hpp"
#include "engine/engine.hpp"
#include "run/ensure_image.hpp"
#include "run/prepare.hpp"

namespace sparkrun::cli {

// The planned image, in the engine's store: pulled where it is missing, with the engine's progress
// on a terminal and what is to be feared of the pull before it, and then given a tag of ours.
run::EnsuredImage ensure_image(const run::Prepared& prepared, const oci::Talk& talk,
                               engine::Engine& engine, Context& context);

}  // namespace sparkrun::cli
