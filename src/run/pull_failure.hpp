// SPDX-License-Identifier: MIT
#pragma once

#include "base/error.hpp"
#include "config/settings.hpp"
#include "oci/connect.hpp"
#include "plan/run_plan.hpp"
#include "sys/system.hpp"

namespace sparkrun::run {

// Whom to ask why an image could not be pulled.
struct Witness {
  sys::System& system;
  const config::Settings& settings;
  oci::Talk talk;
};

// `registry.locked_gone` where the registry says that it no longer has the pinned digest; else
// `failure`, the engine's own words.
Error explain_pull_failure(const plan::PinnedImage& pinned, const Error& failure,
                           const Witness& witness);

// Runs `pull`; what the engine says of a failure that leaves it is explained.
template <typename Pull>
auto with_pull_explained(const plan::PinnedImage& pinned, const Witness& witness, Pull&& pull) {
  try {
    return pull();
  } catch (const Error& failure) {
    if (failure.id() != "engine.failed" && failure.id() != "registry.not_found") throw;
    throw explain_pull_failure(pinned, failure, witness);
  }
}

}  // namespace sparkrun::run
