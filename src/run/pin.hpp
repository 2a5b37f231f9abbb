// SPDX-License-Identifier: MIT
#pragma once

#include "config/settings.hpp"
#include "lock/store.hpp"
#include "plan/run_plan.hpp"
#include "run/prepare.hpp"
#include "sys/system.hpp"

#include <optional>
#include <string>
#include <vector>

namespace sparkrun::run {

struct PinQuestion {
  const profile::Profile& profile;
  std::string platform;
  std::optional<fs::path> lock_path;  // none: made from an image
  bool names_registry = false;        // for an engine that guesses where a short name is from
  fs::path root;
  LockedMode locked;
  bool latest = false;
  bool may_remember = true;
  oci::Talk talk;
};

struct PinChoice {
  plan::PinnedImage image;
  std::optional<lock::StoredLock> lock;
  std::vector<std::string> notes;
};

// Which digest is run: the lock's; without a lock the remembered one of this project; else what the
// registry says now, which is then remembered. Throws `lock.missing`, `lock.stale` (every reason),
// `registry.*`.
PinChoice choose_pin(const PinQuestion& question, sys::System& system,
                     const config::Settings& settings);

}  // namespace sparkrun::run
