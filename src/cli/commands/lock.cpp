// SPDX-License-Identifier: MIT
#include "base/embedded.hpp"
#include "base/error.hpp"
#include "base/json_value.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/lock_check.hpp"
#include "cli/profiles.hpp"
#include "cli/registry.hpp"
#include "lock/resolver.hpp"
#include "oci/connect.hpp"
#include "sys/files.hpp"

#include <fmt/format.h>

#include <array>

namespace sparkrun::cli {
namespace {

constexpr auto options = std::to_array<Option>({
    {"PROFILE", "", Takes::values, "", "profiles to lock; all of the project when left out",
     Values::profile},
    {"--update", "", Takes::nothing, "", "move the pins to what the tags point at now"},
    {"--update-to", "", Takes::value, "DIGEST", "pin exactly this digest (one profile)"},
    {"--check", "", Takes::nothing, "", "change nothing and ask nobody; exit 3 if a lock is stale"},
    {"--remote", "", Takes::nothing, "",
     "with --check: ask also whether the registries still have what is locked"},
    {"--dry-run", "", Takes::nothing, "", "print what would be written"},
    cacert_option,
});

// Locking a built-in profile in a project brings the profile and its shipped lock into the project,
// so that both are reviewed together. Here only where it will stand.
void place_in_project(LockTarget& target, const profile::Project& project) {
  if (target.profile->origin != profile::Origin::built_in || !project.is_project) return;
  target.adopted_as = project.root / "profiles" / (target.name + ".toml");
  target.path = project.root / "lockfiles" / (target.name + ".lock");
  if (const auto text = sys::read_file(target.path)) {
    target.stored = lock::StoredLock{lock::Lockfile::parse(*text, target.path.string()),
                                     target.path.string(), ""};
  }
}

// A project may be somebody else's: a link in it must not have us write anywhere else. Both folders
// of a project lie side by side.
void refuse_to_leave(const std::filesystem::path& path) {
  std::error_code failure;
  const auto root = std::filesystem::weakly_canonical(path.parent_path().parent_path(), failure);
  const std::filesystem::path real = sys::real_path(path);
  const std::filesystem::path inside = real.lexically_relative(root);
  if (!inside.empty() && *inside.begin() != "..") return;
  throw Error{
      "file.unwritable",
      fmt::format("`{}` is a link out of the project, to `{}`", path.string(), real.string()),
      {{"path", path.string()}}};
}

void adopt(const LockTarget& target, Output& output) {
  if (target.adopted_as.empty()) return;
  refuse_to_leave(target.adopted_as);
  refuse_to_leave(target.path);
  sys::make_directories(target.adopted_as.parent_path(), 0755);
  sys::write_file_atomically(target.adopted_as,
                             embedded_file("profiles/" + target.name + ".toml").value_or(""));
  if (target.stored) lock::write_lock(target.path, target.stored->lock);
  output.note(fmt::format("copied the built-in profile `{}` to {}", target.name,
                          target.adopted_as.string()));
}

// What happened to one lockfile, in one word and with the digest that it holds.
void report(const LockTarget& target, const lock::Lockfile& lock, std::string_view action,
            Output& output, Json& json) {
  const std::string digest = lock::locked_root(lock).to_string();
  if (const std::string text = lock::fallback_text(lock); !text.empty()) {
    output.warning(fmt::format("{}: {}", target.name, text));
  }
  if (output.json) {
    json.push_back({{"profile", target.name},
                    {"action", action},
                    {"lock", target.path.string()},
                    {"image", lock.image},
                    {"taken", lock.taken},
                    {"digest", digest},
                    {"kind", lock.index ? "index" : "manifest"}});
  } else {
    output.result(fmt::format("{}: {} {} ({} {})\n", target.name, action,
                              printable(target.path.string()), lock.index ? "index" : "manifest",
                              digest));
  }
}

LockTarget find_target(const std::string& name, const profile::Project& project,
                       const profile::Store& store) {
  LockTarget target{.name = name};
  try {
    target.profile = store.load(name);
    target.path = store.lock_path(*target.profile).value();
    target.stored = lock::find_lock(*target.profile, target.path);
    place_in_project(target, project);
  } catch (const Error& error) {
    target.error = error;
    target.error->add_context(fmt::format("locking profile `{}`", name));
  }
  return target;
}

// Of those that can be locked, in their order.
std::vector<lock::PinRequest> to_requests(const std::vector<LockTarget>& targets,
                                          const Arguments& arguments) {
  std::optional<Digest> update_to;
  if (const auto typed = arguments.value("--update-to")) update_to = Digest::parse(*typed);
  if (update_to && targets.size() != 1) {
    throw Error{"usage.bad_value", "--update-to pins one profile; name it", {{"command", "lock"}}};
  }
  std::vector<lock::PinRequest> requests;
  for (const LockTarget& target : targets) {
    if (target.error) continue;
    const auto named = oci::Reference::parse(target.profile->image).digest();
    if (update_to && named && named != update_to) {
      throw Error{"usage.bad_value",
                  fmt::format("profile `{}` names the digest {} itself; change it there",
                              target.name, named->to_string()),
                  {{"command", "lock"}}};
    }
    requests.push_back(
        {.name = target.name,
         .image = target.profile->image,
         .platforms = target.profile->platforms,
         .current = target.stored ? std::optional{target.stored->lock} : std::nullopt,
         .update = arguments.has("--update"),
         .update_to = update_to,
         .fallback = target.profile->fallback});
  }
  return requests;
}

// Writes one lock, or says what would be written.
void settle(const LockTarget& target, const lock::PinResult& result, bool is_dry, Output& output,
            Json& json) {
  refuse_to_leave(target.path);
  if (const auto* const error = std::get_if<Error>(&result)) throw Error{*error};
  const auto& lock = std::get<lock::Lockfile>(result);
  if (!is_dry) {
    const bool was_written = lock::write_lock(target.path, lock);
    return report(target, lock, was_written ? "wrote" : "unchanged", output, json);
  }
  const bool differs = sys::read_file(target.path) != lock.to_text();
  report(target, lock, differs ? "would write" : "unchanged", output, json);
  if (differs && !output.json) output.result(lock.to_text());
}

// What fails for one profile is said, and the others go on.
ExitCode lock_all(std::vector<LockTarget>& targets, const std::vector<lock::PinRequest>& requests,
                  bool is_dry, Context& context) {
  oci::Registry registry =
      oci::connect(context.system, context.settings, registry_talk(context.output));
  const std::vector<lock::PinResult> results = lock::resolve_pins(requests, registry);
  size_t place = 0;
  ExitCode code = ExitCode::ok;
  Json json = Json::array();
  for (LockTarget& target : targets) {
    if (!target.error) {
      try {
        settle(target, results.at(place++), is_dry, context.output, json);
        continue;
      } catch (const Error& error) {
        target.error = error;
      }
    }
    code = worse(code, target.error->exit_code());
    if (context.output.json) {
      json.push_back({{"profile", target.name},
                      {"action", "failed"},
                      {"lock", target.path.string()},
                      {"error", to_json(*target.error)}});
    } else {
      context.output.error(*target.error);
    }
  }
  if (context.output.json) context.output.result_json(json);
  return code;
}

int run(const Arguments& arguments, Context& context) {
  apply_registry_options(arguments, context.settings);
  const profile::Project project =
      profile::find_project(context.system.environment, context.directory);
  const profile::Store store{project, context.system.environment};
  std::vector<LockTarget> targets;
  for (const std::string& name : chosen_profiles(arguments, store, "lock", "to lock")) {
    targets.push_back(find_target(name, project, store));
  }
  if (arguments.has("--check")) {
    for (const std::string_view other : {"--update", "--update-to", "--dry-run"}) {
      if (!arguments.has(other)) continue;
      throw Error{"usage.bad_value",
                  fmt::format("`--check` changes nothing; it does not go with `{}`", other),
                  {{"command", "lock"}}};
    }
    return static_cast<int>(check_locks(targets, arguments.has("--remote"), context));
  }
  if (arguments.has("--remote")) {
    throw Error{"usage.bad_value", "`--remote` is for `lock --check`", {{"command", "lock"}}};
  }
  const bool is_dry = arguments.has("--dry-run");
  const std::vector<lock::PinRequest> requests = to_requests(targets, arguments);
  if (!is_dry) {
    for (const LockTarget& target : targets) {
      if (!target.error) adopt(target, context.output);
    }
  }
  return static_cast<int>(lock_all(targets, requests, is_dry, context));
}

}  // namespace

extern const Command lock_command{.name = "lock",
                                  .summary = "pin the images of profiles in lockfiles",
                                  .options = options,
                                  .run = run,
                                  .description =
                                      "Adds what is missing and never moves a pin whose image text "
                                      "is unchanged: `--update` does\n"
                                      "that. A second run changes no byte. `--check` ends with 3 "
                                      "for a stale lock; with `--remote`\n"
                                      "also with 6 for a locked digest that has vanished."};

}  // namespace sparkrun::cli
