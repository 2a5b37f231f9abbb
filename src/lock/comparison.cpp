// SPDX-License-Identifier: MIT
#include "lock/comparison.hpp"

#include "lock/questions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace sparkrun::lock {
namespace {

const oci::Resolved& value_of(const oci::ResolveResult& answer, const Side& side) {
  if (const auto* const error = std::get_if<Error>(&answer)) {
    Error told{*error};
    told.add_context(fmt::format("looking at `{}`", side.name));
    throw told;
  }
  return std::get<oci::Resolved>(answer);
}

bool is_listed(const oci::Resolved& resolved, const oci::Platform& platform) {
  return std::ranges::any_of(resolved.platforms, [&](const oci::ResolvedPlatform& found) {
    return found.platform.matches(platform);
  });
}

std::vector<oci::Platform> parse_all(const std::vector<std::string>& names) {
  std::vector<oci::Platform> platforms;
  for (const std::string& name : names) platforms.push_back(oci::Platform::parse(name));
  return platforms;
}

std::vector<oci::Platform> common_platforms(const oci::Resolved& before,
                                            const oci::Resolved& after) {
  const oci::Platform spark{.os = "linux", .architecture = "arm64", .variant = ""};
  if (is_listed(before, spark) && is_listed(after, spark)) return {spark};
  std::vector<oci::Platform> common;
  for (const oci::ResolvedPlatform& found : before.platforms) {
    if (is_listed(after, found.platform)) common.push_back(found.platform);
  }
  return common;
}

std::vector<oci::Platform> choose(const Side& before, const Side& after,
                                  const std::string& platform, const oci::Resolved& first,
                                  const oci::Resolved& second) {
  if (!platform.empty()) return {oci::Platform::parse(platform)};
  if (!before.platforms.empty()) return parse_all(before.platforms);
  if (!after.platforms.empty()) return parse_all(after.platforms);
  return common_platforms(first, second);
}

// What the tags point at, with the platforms of each. A single manifest says its own only in its
// config.
std::pair<oci::Resolved, oci::Resolved> look_at_roots(const Side& before, const Side& after,
                                                      oci::Registry& registry) {
  Questions roots;
  const size_t first = roots.add({.reference = before.reference});
  const size_t second = roots.add({.reference = after.reference});
  roots.ask(registry);
  const auto look = [&](const Side& side, size_t number) {
    oci::Resolved root = value_of(roots.answer(number), side);
    if (root.kind == oci::Kind::index) return root;
    Questions whole;
    whole.add({.reference = side.reference.with_digest(root.digest),
               .detail = oci::ResolveDetail::configs});
    whole.ask(registry);
    return value_of(whole.answer(0), side);
  };
  return {look(before, first), look(after, second)};
}

const Error* lost_platform(const oci::ResolveResult& answer) {
  const auto* const error = std::get_if<Error>(&answer);
  return error != nullptr && error->exit_code() == ExitCode::no_platform ? error : nullptr;
}

PlatformDrift drift_of(const oci::ResolvedPlatform& before, const oci::ResolvedPlatform& after) {
  const oci::ImageDetails &was = *before.details, &is = *after.details;
  PlatformDrift drift{.platform = before.platform.to_string(),
                      .drift = DriftClass::same,
                      .locked = before.digest,
                      .now = after.digest,
                      .locked_created = was.image.created,
                      .now_created = is.image.created};
  if (before.digest == after.digest) return drift;
  drift.drift =
      classify({before.digest, was.config, was.chain}, {after.digest, is.config, is.chain});
  drift.difference = compare(was, is);
  return drift;
}

}  // namespace

Comparison compare_images(const Side& before, const Side& after, const std::string& platform,
                          oci::Registry& registry) {
  const auto [was, is] = look_at_roots(before, after, registry);
  const std::vector<oci::Platform> platforms = choose(before, after, platform, was, is);
  if (platforms.empty()) {
    throw Error{"registry.platform_missing",
                fmt::format("`{}` and `{}` have no platform in common", before.name, after.name)};
  }
  // By the digests that were just seen, so that a tag which moves meanwhile does not mix two
  // images.
  Questions details;
  const oci::Reference old_root = before.reference.with_digest(was.digest);
  const oci::Reference new_root = after.reference.with_digest(is.digest);
  for (const oci::Platform& wanted : platforms) {
    details.add(details_request(old_root, wanted));
    details.add(details_request(new_root, wanted));
  }
  details.ask(registry);

  Comparison comparison{.before = was.digest, .after = is.digest, .platforms = {}};
  for (size_t i = 0; i < platforms.size(); ++i) {
    if (const auto* const lost = lost_platform(details.answer(2 * i + 1));
        lost && platforms.size() > 1) {
      const auto& old_build = value_of(details.answer(2 * i), before).platforms.at(0);
      comparison.platforms.push_back({.platform = old_build.platform.to_string(),
                                      .drift = DriftClass::platform_lost,
                                      .locked = old_build.digest,
                                      .locked_created = old_build.details->image.created,
                                      .error = *lost});
      continue;
    }
    const auto& old_build = value_of(details.answer(2 * i), before).platforms.at(0);
    const auto& new_build = value_of(details.answer(2 * i + 1), after).platforms.at(0);
    PlatformDrift drift = drift_of(old_build, new_build);
    if (drift.drift == DriftClass::same && was.digest != is.digest) {
      drift.drift = DriftClass::metadata_only;
    }
    comparison.platforms.push_back(std::move(drift));
  }
  return comparison;
}

}  // namespace sparkrun::lock
