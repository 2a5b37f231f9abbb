// SPDX-License-Identifier: MIT
#include "run/prepare.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "base/ulid.hpp"
#include "lock/resolver.hpp"
#include "oci/connect.hpp"
#include "plan/gpu_access.hpp"
#include "plan/planner.hpp"
#include "plan/trust.hpp"
#include "run/pin.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sparkrun::run {
namespace {

// Bare `sparkrun run`: the configured profile, else the only one of the project.
std::string default_target(const config::Settings& settings, const profile::Store& store) {
  const std::string configured = settings.text("profile");
  if (!configured.empty()) return configured;
  std::vector<std::string> names, of_project;
  for (const profile::ListedProfile& listed : store.list()) {
    names.push_back(listed.name);
    if (listed.origin == profile::Origin::project) of_project.push_back(listed.name);
  }
  if (of_project.size() == 1) return of_project.front();
  throw Error{
      "usage.no_profile",
      fmt::format("which profile? There {} {} in this project; known are: {}",
                  of_project.empty() ? "is no" : "are",
                  of_project.empty() ? "profile" : fmt::format("{} profiles", of_project.size()),
                  join(names, ", "))};
}

plan::EngineTraits engine_traits(const engine::EngineFacts* facts, const engine::Engine& engine,
                                 const sys::HostFacts& host) {
  plan::EngineTraits traits{.name = engine.name(), .command = engine.command()};
  if (facts == nullptr) return traits;
  traits.is_rootless = facts->is_rootless;
  traits.is_remote = facts->is_remote;
  traits.remote_address = facts->address.empty() ? "another host" : facts->address;
  // Docker's daemon raises limits as root; podman's containers are children of ours.
  const bool is_bound = facts->is_rootless || facts->name == "podman";
  if (is_bound && !facts->is_remote) traits.memlock_bytes_max = host.memlock_bytes_max;
  return traits;
}

// --platform, else the engine's own where the profile lists it, else the profile's first.
std::string choose_platform(const Request& request, const profile::Profile& profile,
                            const std::optional<engine::EngineFacts>& engine) {
  if (!request.platform.empty()) return oci::Platform::parse(request.platform).to_string();
  const std::string native = engine ? engine->os + "/" + engine->architecture : "";
  const auto& listed = profile.platforms;
  if (listed.empty()) return native.empty() ? "linux/arm64" : native;
  return std::ranges::find(listed, native) != listed.end() ? native : listed.front();
}

// What a project asks for needs the user's consent, given on the command line or in the user's own
// config.
void check_trust(const plan::RunPlan& plan, const plan::PlanFacts& facts, const Request& request,
                 const config::Settings& settings) {
  std::vector<std::string> allowed = settings.list("allow");
  const auto unknown = [](const std::string& name) {
    return !plan::is_trust_name(split_once(name, ':').first);
  };
  for (const std::string& name : allowed) {
    if (unknown(name)) {
      throw Error{"config.invalid",
                  fmt::format("{}: `allow` names `{}`, and there is no such trust",
                              settings.origin("allow"), printable(name))};
    }
  }
  for (const std::string& name : request.allow) {
    if (unknown(name)) {
      throw Error{"usage.bad_value",
                  fmt::format("--allow: there is no trust called `{}`", printable(name)),
                  {{"command", "explain trust"}}};
    }
  }
  allowed.insert(allowed.end(), request.allow.begin(), request.allow.end());
  plan::require_trust(plan::trust_needs(plan, facts), allowed);
}

}  // namespace

plan::PlanFacts plan_facts(const sys::System& system, const profile::Project& project,
                           const sys::HostFacts& host) {
  return {
      .project_root = project.root,
      .working_directory = system.environment.working_directory,
      .home = system.environment.home(),
      .variables = system.environment.variables,
      .in_is_usable = system.terminal.in_is_usable,
      .in_is_terminal = system.terminal.in_is_terminal,
      .out_is_terminal = system.terminal.out_is_terminal,
      .caller = {.uid = system.environment.uid, .gid = system.environment.gid, .name = host.user}};
}

profile::Profile find_profile(const std::string& target, const profile::Project& project,
                              const sys::System& system, const config::Settings& settings) {
  const profile::Store store{project, system.environment};
  const std::string name = target.empty() ? default_target(settings, store) : target;
  return is_image(name) ? store.from_image(name) : store.load(name);
}

engine::Choice choose_engine(const profile::Profile* profile, const config::Settings& settings) {
  const bool is_profiles =
      profile != nullptr && !profile->engine.empty() && settings.origin("engine") != "--engine";
  engine::Choice choice{.name = is_profiles ? profile->engine : settings.text("engine"),
                        .command = {}};
  // Words of one's own call the engine that they end with; with another program they call whatever
  // is chosen.
  const std::vector<std::string> command = settings.list("engine_command");
  if (command.empty()) return choice;
  const std::string program = command.back().substr(command.back().rfind('/') + 1);
  const bool names_engine = program == "docker" || program == "podman";
  if (choice.name.empty() && names_engine) choice.name = program;
  if (!names_engine || program == choice.name) choice.command = command;
  return choice;
}

bool is_image(std::string_view target) {
  return target.find_first_of("/:@") != std::string_view::npos;
}

LockedMode locked_mode(const Request& request, const config::Settings& settings,
                       const sys::Environment& environment) {
  if (request.locked) return {*request.locked, *request.locked ? "--locked" : "--no-locked"};
  if (const auto configured = settings.boolean("locked"))
    return {*configured, settings.origin("locked")};
  const std::string ci = environment.get_or("CI", "");
  const bool is_ci = !ci.empty() && ci != "0" && !equal_ignoring_case(ci, "false");
  return {is_ci, "CI"};
}

Prepared prepare(const Request& request, const profile::Project& project, sys::System& system,
                 const config::Settings& settings, engine::Engine& engine) {
  const profile::Profile& profile = request.profile;
  Prepared prepared{.id = make_ulid(system.clock.now(), system.clock.randomness()),
                    .project = project,
                    .limit = request.limit,
                    .exclusive = request.exclusive,
                    .status_file = request.status_file};
  try {
    prepared.engine = engine.facts();
  } catch (const Error& error) {
    if (!request.is_dry_run || error.exit_code() != ExitCode::engine) throw;
    prepared.engine_note = error.what();
  }
  prepared.host = sys::read_host_facts(system.environment);

  const std::string platform = choose_platform(request, profile, prepared.engine);
  const profile::Store store{project, system.environment};
  const PinChoice pin = choose_pin({.profile = profile,
                                    .platform = platform,
                                    .lock_path = store.lock_path(profile),
                                    .names_registry = engine.name() == "podman",
                                    .root = project.root,
                                    .locked = locked_mode(request, settings, system.environment),
                                    .latest = request.latest,
                                    .may_remember = !request.is_dry_run,
                                    .talk = request.talk},
                                   system, settings);
  prepared.lock = pin.lock;
  prepared.notes = pin.notes;

  const engine::EngineFacts* const facts = prepared.engine ? &*prepared.engine : nullptr;
  plan::PlanFacts surroundings = plan_facts(system, project, prepared.host);
  surroundings.engine = engine_traits(facts, engine, prepared.host);
  prepared.plan =
      plan::make_plan(profile, pin.image,
                      plan::choose_gpu_access(plan::requested_gpu(profile, request.options), facts),
                      request.options, surroundings);
  // The pinned image is fetched by then; another pull would ask the registry again.
  std::erase_if(prepared.plan.container,
                [](const profile::OptionValue& value) { return value.option->key == "pull"; });
  try {
    check_trust(prepared.plan, surroundings, request, settings);
  } catch (const Error& error) {
    if (!request.is_dry_run || error.id() != "trust.not_allowed") throw;
    for (const std::string& problem : error.problems()) {
      prepared.plan.warnings.push_back("a real run needs to be allowed: " + problem);
    }
  }
  return prepared;
}

}  // namespace sparkrun::run
