// SPDX-License-Identifier: MIT
#include "base/json_value.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/drift_text.hpp"
#include "cli/locked_profiles.hpp"
#include "cli/registry.hpp"
#include "lock/comparison.hpp"
#include "oci/connect.hpp"

#include <fmt/format.h>

#include <array>

namespace sparkrun::cli {
namespace {

constexpr auto options = std::to_array<Option>({
    {"A", "", Takes::value, "", "a reference, a digest in the repository of B, or a locked profile",
     Values::profile},
    {"B", "", Takes::value, "", "the same, with A's repository", Values::profile},
    {"--platform", "", Takes::value, "PLATFORM", "compare that platform's builds"},
    cacert_option,
});

// An argument with one of these is an image, as in `run`.
bool is_profile_name(std::string_view text) {
  return text.find_first_of("/:@") == std::string_view::npos;
}

std::string side_text(const Arguments& arguments, std::string_view name) {
  const auto text = arguments.value(name);
  if (text) return *text;
  throw Error{
      "usage.missing_argument", "`diff` compares two images: A and B", {{"command", "diff"}}};
}

lock::Side locked_side(const std::string& name, Context& context) {
  const profile::Store store{profile::find_project(context.system.environment, context.directory),
                             context.system.environment};
  const lock::LockedProfile locked = locked_profile(name, store);
  lock::Side side{
      .name = name,
      .reference =
          oci::Reference::parse(locked.lock.image).with_digest(lock::locked_root(locked.lock)),
      .platforms = {}};
  for (const auto& [platform, pin] : locked.lock.platforms) side.platforms.push_back(platform);
  return side;
}

lock::Side side_of(const std::string& text, Context& context) {
  if (is_profile_name(text)) return locked_side(text, context);
  return {.name = text, .reference = oci::Reference::parse(text), .platforms = {}};
}

// A digest alone is one of the other side's repository.
std::pair<lock::Side, lock::Side> sides_of(const Arguments& arguments, Context& context) {
  const std::string a = side_text(arguments, "A"), b = side_text(arguments, "B");
  const bool is_a_digest = Digest::is_valid(a), is_b_digest = Digest::is_valid(b);
  if (is_a_digest && is_b_digest) {
    throw Error{"usage.bad_value",
                "two digests do not say a repository; write REPOSITORY@DIGEST for one of them",
                {{"command", "diff"}}};
  }
  const auto within = [](const lock::Side& other, const std::string& digest) {
    return lock::Side{.name = digest,
                      .reference = other.reference.with_digest(Digest::parse(digest)),
                      .platforms = {}};
  };
  if (is_a_digest) {
    const lock::Side side = side_of(b, context);
    return {within(side, a), side};
  }
  const lock::Side side = side_of(a, context);
  return {side, is_b_digest ? within(side, b) : side_of(b, context)};
}

std::string side_line(std::string_view mark, const lock::Side& side, const Digest& digest,
                      const std::string& created) {
  return fmt::format("{} {} ({}{}{})\n", mark, printable(side.name), digest.to_string(),
                     created.empty() ? "" : ", ", created);
}

void show(const lock::Comparison& comparison, const std::pair<lock::Side, lock::Side>& sides,
          Context& context) {
  const TimePoint now = context.system.clock.now();
  for (const lock::PlatformDrift& platform : comparison.platforms) {
    context.output.result(
        side_line("---", sides.first, platform.locked, created_text(platform.locked_created, now)));
    if (platform.now) {
      context.output.result(
          side_line("+++", sides.second, *platform.now, created_text(platform.now_created, now)));
    }
    context.output.result(
        fmt::format("{}: {}\n", platform.platform, lock::to_string(platform.drift)));
    if (platform.difference) context.output.result(difference_text(*platform.difference, "  "));
  }
}

Json to_json(const lock::Comparison& comparison, const std::pair<lock::Side, lock::Side>& sides) {
  Json platforms = Json::array();
  for (const lock::PlatformDrift& platform : comparison.platforms) {
    Json json{{"platform", platform.platform},
              {"class", lock::to_string(platform.drift)},
              {"a", platform.locked.to_string()},
              {"b", platform.now ? Json(platform.now->to_string()) : Json()}};
    if (platform.difference) json["difference"] = difference_json(*platform.difference);
    platforms.push_back(std::move(json));
  }
  return {{"a", {{"name", sides.first.name}, {"digest", comparison.before.to_string()}}},
          {"b", {{"name", sides.second.name}, {"digest", comparison.after.to_string()}}},
          {"platforms", platforms}};
}

int run(const Arguments& arguments, Context& context) {
  apply_registry_options(arguments, context.settings);
  const std::string platform = arguments.value_or("--platform", "");
  if (!platform.empty()) static_cast<void>(oci::Platform::parse(platform));
  const auto sides = sides_of(arguments, context);
  oci::Registry registry =
      oci::connect(context.system, context.settings, registry_talk(context.output));
  const lock::Comparison comparison =
      lock::compare_images(sides.first, sides.second, platform, registry);
  if (context.output.json)
    context.output.result_json(to_json(comparison, sides));
  else
    show(comparison, sides, context);
  ExitCode code = ExitCode::ok;
  for (const lock::PlatformDrift& drift : comparison.platforms) {
    code = worse(code, lock::exit_code(drift.drift));
  }
  return static_cast<int>(code);
}

}  // namespace

extern const Command diff_command{
    .name = "diff",
    .summary = "compare two images without pulling them",
    .options = options,
    .run = run,
    .description =
        "Prints environment, labels, entrypoint and layers that differ, from manifests and "
        "configs\n"
        "alone. Exit 1 when a container would notice the difference, 0 when not (same,\n"
        "metadata-only)."};

}  // namespace sparkrun::cli
