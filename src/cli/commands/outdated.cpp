// SPDX-License-Identifier: MIT
#include "base/json_value.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/drift_text.hpp"
#include "cli/locked_profiles.hpp"
#include "cli/profiles.hpp"
#include "cli/registry.hpp"
#include "lock/drift.hpp"
#include "oci/connect.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace sparkrun::cli {
namespace {

constexpr auto options = std::to_array<Option>({
    {"PROFILE", "", Takes::values, "", "profiles to look at; all of the project when left out",
     Values::profile},
    cacert_option,
});

std::string digest_text(const std::optional<Digest>& digest) {
  return digest ? digest->to_string() : "";
}

Json platform_json(const lock::PlatformDrift& platform) {
  Json json{{"platform", platform.platform},
            {"class", lock::to_string(platform.drift)},
            {"locked", platform.locked.to_string()},
            {"now", platform.now ? Json(platform.now->to_string()) : Json()},
            {"locked_created", platform.locked_created},
            {"now_created", platform.now_created}};
  if (platform.difference) json["difference"] = difference_json(*platform.difference);
  if (platform.error) json["error"] = to_json(*platform.error);
  return json;
}

Json drift_json(const lock::Drift& drift) {
  Json json{{"profile", drift.name},
            {"class", lock::to_string(drift.drift())},
            {"reference", drift.reference},
            {"locked", drift.locked.to_string()},
            {"now", drift.now ? Json(drift.now->to_string()) : Json()},
            {"gone", drift.gone},
            {"platforms", Json::array()}};
  for (const lock::PlatformDrift& platform : drift.platforms) {
    json["platforms"].push_back(platform_json(platform));
  }
  if (drift.error) json["error"] = to_json(*drift.error);
  return json;
}

std::string with_created(const std::string& digest, const std::string& created) {
  return created.empty() ? digest : fmt::format("{}  {}", digest, created);
}

void show_platform(const lock::PlatformDrift& platform, TimePoint now, Output& output) {
  output.result(fmt::format("  {}: {}\n", platform.platform, lock::to_string(platform.drift)));
  if (platform.drift == lock::DriftClass::metadata_only) return;
  output.result(fmt::format(
      "    locked  {}\n",
      with_created(platform.locked.to_string(), created_text(platform.locked_created, now))));
  if (platform.now) {
    output.result(fmt::format(
        "    now     {}\n",
        with_created(digest_text(platform.now), created_text(platform.now_created, now))));
  }
  if (platform.difference) output.result(difference_text(*platform.difference, "    "));
}

// A `latest` that stands still, or an image that has grown old, may not be what people think it is.
void remark_on_age(const lock::Drift& drift, TimePoint now, Output& output) {
  constexpr auto old = std::chrono::days{180};
  const std::string created = drift.platforms.empty() ? "" : drift.platforms.front().locked_created;
  const auto time = parse_rfc3339(created);
  const bool is_old = time && now - *time > old;
  const oci::Reference reference = oci::Reference::parse(drift.reference);
  const std::string tag = reference.tag().value_or("latest");
  const bool is_latest = !reference.digest() && tag.find("latest") != std::string::npos;
  const std::string age = created_text(created, now);
  if (is_latest) {
    output.note(fmt::format("{}: `{}` has not moved since it was locked{}{}", drift.name, tag,
                            age.empty() ? "" : "; ", age));
  } else if (is_old) {
    output.note(fmt::format("{}: {}", drift.name, age));
  }
}

// The whole of a drift: its class, where the tag points, and each platform that is not the same.
void show(const lock::Drift& drift, TimePoint now, Output& output) {
  const lock::DriftClass kind = drift.drift();
  output.result(
      fmt::format("{}: {}  {}\n", drift.name, lock::to_string(kind), printable(drift.reference)));
  if (kind == lock::DriftClass::same) return remark_on_age(drift, now, output);
  output.result(fmt::format("  locked  {}\n", drift.locked.to_string()));
  if (drift.now) output.result(fmt::format("  now     {}\n", digest_text(drift.now)));
  for (const lock::PlatformDrift& platform : drift.platforms) show_platform(platform, now, output);
}

// What stands on stderr: why something is not known, and what has vanished.
void complain(const lock::Drift& drift, Output& output) {
  if (drift.error) output.error(*drift.error);
  for (const lock::PlatformDrift& platform : drift.platforms) {
    if (platform.error) output.error(*platform.error);
  }
  for (const std::string& digest : drift.gone) {
    output.warning(fmt::format("{}: the registry no longer has the locked {}", drift.name, digest));
  }
  if (drift.drift() == lock::DriftClass::metadata_only) {
    output.note(fmt::format("{}: another index around the same build; nothing to do", drift.name));
  }
}

int run(const Arguments& arguments, Context& context) {
  apply_registry_options(arguments, context.settings);
  const profile::Store store{profile::find_project(context.system.environment, context.directory),
                             context.system.environment};
  std::vector<lock::LockedProfile> locks;
  std::vector<std::pair<std::string, Error>> unlocked;
  for (const std::string& name : chosen_profiles(arguments, store, "outdated", "to look at")) {
    try {
      locks.push_back(locked_profile(name, store));
    } catch (const Error& error) {
      unlocked.emplace_back(name, error);
    }
  }
  oci::Registry registry =
      oci::connect(context.system, context.settings, registry_talk(context.output));
  const TimePoint now = context.system.clock.now();
  ExitCode code = ExitCode::ok;
  Json json = Json::array();
  for (lock::Drift& drift : lock::find_drift(locks, registry)) {
    code = worse(code, drift.exit_code());
    if (context.output.json) {
      json.push_back(drift_json(drift));
      continue;
    }
    show(drift, now, context.output);
    complain(drift, context.output);
  }
  for (const auto& [name, error] : unlocked) {
    code = worse(code, error.exit_code());
    if (context.output.json)
      json.push_back({{"profile", name}, {"class", "unknown"}, {"error", to_json(error)}});
    else
      context.output.error(error);
  }
  if (context.output.json) context.output.result_json(json);
  return static_cast<int>(code);
}

}  // namespace

extern const Command outdated_command{
    .name = "outdated",
    .summary = "say whether tags have moved since they were locked, and what changed",
    .options = options,
    .run = run,
    .description =
        "Classes: same and metadata-only (0), repackaged, config-only and content (1), "
        "platform-lost\n"
        "(8), tag-gone (6), unknown (5); 6 also where the registry no longer has a locked digest.\n"
        "Only manifests and configs are read, a few kilobytes. Nothing is changed: `sparkrun lock\n"
        "--update` moves a pin."};

}  // namespace sparkrun::cli
