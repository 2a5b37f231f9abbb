// SPDX-License-Identifier: MIT
#include "base/embedded.hpp"
#include "base/error.hpp"
#include "base/json_value.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/profiles.hpp"
#include "cli/registry.hpp"
#include "lock/resolver.hpp"
#include "lock/store.hpp"
#include "oci/connect.hpp"
#include "profile/store.hpp"
#include "sys/files.hpp"

#include <fmt/format.h>

#include <array>

namespace sparkrun::cli {
namespace {

namespace fs = std::filesystem;

constexpr auto options = std::to_array<Option>({
    {"PROFILE", "", Takes::values, "", "profiles to lock; all of the project when left out",
     Values::profile},
    {"--update", "", Takes::nothing, "", "move the pins to what the tags point at now"},
    {"--update-to", "", Takes::value, "DIGEST", "pin exactly this digest (one profile)"},
    {"--check", "", Takes::nothing, "", "change nothing and ask nobody; exit 3 if a lock is stale"},
    {"--dry-run", "", Takes::nothing, "", "print what would be written"},
    {"--cacert", "", Takes::value, "FILE", "PEM file of CAs that registries may be signed by, too",
     Values::file},
});

// A profile with its lockfile's place and what stands there.
struct Target {
  profile::Profile profile;
  fs::path path;
  std::optional<lock::StoredLock> stored;
  fs::path adopted_as;  // where a built-in profile is copied to; empty: it is not
};

// Locking a built-in profile in a project brings the profile and its shipped lock into the project,
// so that both are reviewed together. Here only where it will stand.
void place_in_project(Target& target, const profile::Project& project) {
  if (target.profile.origin != profile::Origin::built_in || !project.is_project) return;
  target.adopted_as = project.root / "profiles" / (target.profile.name + ".toml");
  target.path = project.root / "lockfiles" / (target.profile.name + ".lock");
  if (const auto text = sys::read_file(target.path)) {
    target.stored = lock::StoredLock{lock::Lockfile::parse(*text, target.path.string()),
                                     target.path.string(), ""};
  }
}

void adopt(const Target& target, Output& output) {
  if (target.adopted_as.empty()) return;
  sys::make_directories(target.adopted_as.parent_path(), 0755);
  sys::write_file_atomically(
      target.adopted_as, embedded_file("profiles/" + target.profile.name + ".toml").value_or(""));
  if (target.stored) lock::write_lock(target.path, target.stored->lock);
  output.note(fmt::format("copied the built-in profile `{}` to {}", target.profile.name,
                          target.adopted_as.string()));
}

int check(const std::vector<Target>& targets, Output& output) {
  ExitCode code = ExitCode::ok;
  Json json = Json::array();
  for (const Target& target : targets) {
    const profile::Profile& profile = target.profile;
    std::vector<std::string> reasons;
    std::string state = "current";
    if (!target.stored) {
      state = "missing";
      code = worse(code, ExitCode::invalid);
    } else {
      reasons =
          lock::stale_reasons(target.stored->lock, lock::expand(profile.image), profile.platforms);
      if (!reasons.empty())
        state = "stale";
      else if (!target.stored->lock.is_complete())
        state = "incomplete";
    }
    if (state == "stale") code = worse(code, ExitCode::stale);
    if (output.json) {
      json.push_back({{"profile", profile.name},
                      {"state", state},
                      {"lock", target.path.string()},
                      {"reasons", reasons}});
      continue;
    }
    output.result(fmt::format("{}: {}\n", profile.name, state));
    for (const std::string& reason : reasons) output.result(fmt::format("  - {}\n", reason));
  }
  if (output.json) output.result_json(json);
  return static_cast<int>(code);
}

// What happened to one lockfile, in one word and with the digest that it holds.
void report(const Target& target, const lock::Lockfile& lock, std::string_view action,
            Output& output, Json& json) {
  const std::string digest =
      lock.index ? lock.index->to_string() : lock.platforms.begin()->second.manifest.to_string();
  if (output.json) {
    json.push_back({{"profile", target.profile.name},
                    {"action", action},
                    {"lock", target.path.string()},
                    {"image", lock.image},
                    {"digest", digest},
                    {"kind", lock.index ? "index" : "manifest"}});
  } else {
    output.result(fmt::format("{}: {} {} ({} {})\n", target.profile.name, action,
                              printable(target.path.string()), lock.index ? "index" : "manifest",
                              digest));
  }
}

std::vector<Target> find_targets(const Arguments& arguments, const profile::Project& project,
                                 const profile::Store& store) {
  std::vector<Target> targets;
  for (const std::string& name : chosen_profiles(arguments, store, "lock", "to lock")) {
    Target target{.profile = store.load(name), .path = {}, .stored = {}};
    target.path = store.lock_path(target.profile).value();
    target.stored = lock::find_lock(target.profile, target.path);
    place_in_project(target, project);
    targets.push_back(std::move(target));
  }
  return targets;
}

std::vector<lock::PinRequest> to_requests(const std::vector<Target>& targets,
                                          const Arguments& arguments) {
  std::optional<Digest> update_to;
  if (const auto typed = arguments.value("--update-to")) update_to = Digest::parse(*typed);
  if (update_to && targets.size() != 1) {
    throw Error{"usage.bad_value", "--update-to pins one profile; name it", {{"command", "lock"}}};
  }
  std::vector<lock::PinRequest> requests;
  for (const Target& target : targets) {
    requests.push_back(
        {.name = target.profile.name,
         .image = target.profile.image,
         .platforms = target.profile.platforms,
         .current = target.stored ? std::optional{target.stored->lock} : std::nullopt,
         .update = arguments.has("--update"),
         .update_to = update_to});
  }
  return requests;
}

int run(const Arguments& arguments, Context& context) {
  const profile::Project project =
      profile::find_project(context.system.environment, context.directory);
  const profile::Store store{project, context.system.environment};
  apply_registry_options(arguments, context.settings);
  const bool is_dry = arguments.has("--dry-run"), is_check = arguments.has("--check");
  const std::vector<Target> targets = find_targets(arguments, project, store);
  if (is_check) return check(targets, context.output);

  const std::vector<lock::PinRequest> requests = to_requests(targets, arguments);
  if (!is_dry) {
    for (const Target& target : targets) adopt(target, context.output);
  }
  oci::Registry registry =
      oci::connect(context.system, context.settings, wait_notice(context.output));
  const std::vector<lock::PinResult> results = lock::resolve_pins(requests, registry);
  ExitCode code = ExitCode::ok;
  Json json = Json::array();
  for (size_t i = 0; i < results.size(); ++i) {
    if (const auto* error = std::get_if<Error>(&results[i])) {
      context.output.error(*error);
      code = worse(code, error->exit_code());
      continue;
    }
    const auto& lock = std::get<lock::Lockfile>(results[i]);
    const bool differs = sys::read_file(targets[i].path) != lock.to_text();
    if (is_dry) {
      report(targets[i], lock, differs ? "would write" : "unchanged", context.output, json);
      if (differs && !context.output.json) context.output.result(lock.to_text());
    } else {
      const bool was_written = lock::write_lock(targets[i].path, lock);
      report(targets[i], lock, was_written ? "wrote" : "unchanged", context.output, json);
    }
  }
  if (context.output.json) context.output.result_json(json);
  return static_cast<int>(code);
}

}  // namespace

extern const Command lock_command{.name = "lock",
                                  .summary = "pin the images of profiles in lockfiles",
                                  .options = options,
                                  .run = run,
                                  .description =
                                      "Adds what is missing and never moves a pin whose image text "
                                      "is unchanged: `--update` does\n"
                                      "that. A second run changes no byte."};

}  // namespace sparkrun::cli
