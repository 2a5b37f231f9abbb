// SPDX-License-Identifier: MIT
#pragma once

#include "config/settings.hpp"
#include "engine/engine.hpp"
#include "lock/store.hpp"
#include "oci/connect.hpp"
#include "plan/run_plan.hpp"
#include "profile/store.hpp"
#include "sys/host_facts.hpp"
#include "sys/system.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace sparkrun::run {

namespace fs = std::filesystem;

// What the user asked for, before anything is looked up.
struct Request {
  profile::Profile profile;
  plan::RunOptions options;
  std::string platform;                       // --platform; empty: chosen
  std::optional<bool> locked;                 // --locked, --no-locked
  bool latest = false;                        // resolve the tag anew
  std::vector<std::string> allow;             // trust names
  bool is_detached = false;                   // --detach; else as the profile says
  std::optional<std::chrono::seconds> limit;  // --timeout
  // --exclusive: how long the GPU is waited for; none: it is shared.
  std::optional<std::chrono::seconds> exclusive;
  bool waits_until_ready = false;  // --wait: with a job in the background
  std::string status_file;         // absolute; empty: none
  bool is_dry_run = false;         // nothing is created or remembered; missing trust is a warning
  oci::Talk talk;                  // told when a registry makes us wait
};

// The result of the first phase: everything that is known before the engine's store is touched.
struct Prepared {
  std::string id;  // ULID of the run
  profile::Project project;
  std::optional<lock::StoredLock> lock;
  plan::RunPlan plan;
  std::optional<engine::EngineFacts> engine;  // none: not reachable, `engine_note` says why
  std::string engine_note;
  sys::HostFacts host;
  std::optional<std::chrono::seconds> limit;      // after which the job is stopped
  std::optional<std::chrono::seconds> exclusive;  // as asked for
  std::string status_file;                        // absolute; empty: none
  std::vector<std::string> notes;  // for people: where the pin came from, what to do next
};

// What a plan needs to know of the surroundings, read off the system; of the engine nothing.
plan::PlanFacts plan_facts(const sys::System& system, const profile::Project& project,
                           const sys::HostFacts& host);

// Whether an argument of `run` names an image rather than a profile.
bool is_image(std::string_view target);

// What an argument of `run` means: a profile or an image; empty: the configured profile, else the
// project's only one. Throws `usage.no_profile`, `profile.*`, `reference.malformed`.
profile::Profile find_profile(const std::string& target, const profile::Project& project,
                              const sys::System& system, const config::Settings& settings);

// --engine, else what the profile (null: none) names, else the user's setting, else what is
// installed.
engine::Choice choose_engine(const profile::Profile* profile, const config::Settings& settings);

// Whether only a current lock will do, and who said so (`--locked`, `SPARKRUN_LOCKED`, a file,
// `CI`).
struct LockedMode {
  bool is_on = false;
  std::string said_by;
};
LockedMode locked_mode(const Request& request, const config::Settings& settings,
                       const sys::Environment& environment);

// Finds pin and facts and makes the plan. The engine is asked for its facts; where it does
// not answer, a dry run goes on and a real one throws `engine.*`. The network is used only where no
// lock and no remembered pin answers.
Prepared prepare(const Request& request, const profile::Project& project, sys::System& system,
                 const config::Settings& settings, engine::Engine& engine);

}  // namespace sparkrun::run
