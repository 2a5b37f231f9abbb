// SPDX-License-Identifier: MIT
#include "run/pin.hpp"

#include "base/error.hpp"
#include "lock/resolver.hpp"
#include "oci/connect.hpp"
#include "sys/files.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sparkrun::run {
namespace {

using lock::Lockfile;
using plan::PinnedImage;

std::string engine_name(const oci::Reference& reference, const PinQuestion& question) {
  return question.names_registry ? reference.to_string() : reference.familiar();
}

// The lock's entry for one platform, as the engine is to be told of it: the index digest with
// --platform where there is an index, else the manifest digest; never a tag.
PinnedImage to_image(const Lockfile& lock, const PinQuestion& question, std::string pin,
                     const std::string& note) {
  const std::string& platform = question.platform;
  const auto entry = lock.platforms.find(platform);
  if (entry == lock.platforms.end()) {
    std::vector<std::string> have;
    for (const auto& [name, unused] : lock.platforms) have.push_back(name);
    throw Error{"registry.platform_missing",
                fmt::format("the pin of {} has no {}; it has {} (`platforms` in the profile and "
                            "`sparkrun lock` add one)",
                            lock.image, platform, fmt::join(have, ", "))};
  }
  const lock::PlatformPin& pinned = entry->second;
  const auto text = [](const std::optional<Digest>& digest) {
    return digest ? digest->to_string() : "";
  };
  const auto cuda = pinned.image_env.find("CUDA_VERSION");
  const Digest& run_digest = lock.index ? *lock.index : pinned.manifest;
  return {
      .reference = lock.image,
      .run_as = engine_name(oci::Reference::parse(lock.image).with_digest(run_digest), question),
      .index = text(lock.index),
      .manifest = pinned.manifest.to_string(),
      .config = text(pinned.config),
      .chain = text(pinned.chain),
      .platform = platform,
      .pin = std::move(pin),
      .pin_note = note,
      .cuda_version = cuda == pinned.image_env.end() ? "" : cuda->second,
      .download_bytes = pinned.download_bytes,
      .taken = lock.taken,
      .taken_because = lock.taken_because};
}

// What every run with a stand-in says.
std::vector<std::string> fallback_notes(const Lockfile& lock) {
  const std::string text = lock::fallback_text(lock);
  return text.empty() ? std::vector<std::string>{} : std::vector{text};
}

// What a digest alone says, when nobody can be asked which kind of digest it is.
PinnedImage from_digest(const oci::Reference& reference, const PinQuestion& question) {
  return {.reference = reference.to_string(),
          .run_as = engine_name(reference.with_digest(*reference.digest()), question),
          .platform = question.platform,
          .pin = "digest",
          .pin_note = "the reference names a digest"};
}

class Chooser {
 public:
  Chooser(const PinQuestion& question, sys::System& system, const config::Settings& settings)
      : question_(question),
        system_(system),
        settings_(settings),
        reference_(oci::Reference::parse(question.profile.image)) {}

  PinChoice choose() {
    if (!question_.latest) {
      if (auto locked = from_lock()) return *locked;
      if (!reference_.digest()) refuse_if_locked();
      if (auto remembered = from_memory()) return *remembered;
    } else if (question_.locked.is_on) {
      throw Error{"usage.bad_value",
                  fmt::format("--latest asks the registry, and {} allows only a lock",
                              question_.locked.said_by),
                  {{"command", "run"}}};
    }
    return from_registry();
  }

 private:
  std::optional<PinChoice> from_lock() const {
    if (!question_.lock_path) return std::nullopt;
    std::optional<lock::StoredLock> stored =
        lock::find_lock(question_.profile, *question_.lock_path);
    if (!stored) return std::nullopt;
    lock::refuse_if_stale(*stored, question_.profile);
    PinnedImage image = to_image(stored->lock, question_, "lock", "lock: " + stored->source);
    return PinChoice{
        .image = std::move(image), .lock = stored, .notes = fallback_notes(stored->lock)};
  }

  void refuse_if_locked() const {
    if (!question_.locked.is_on) return;
    throw Error{
        "lock.missing",
        fmt::format("{} has no lock, and {} asks for one", label(), question_.locked.said_by),
        {{"profile", question_.profile.name}}};
  }

  [[nodiscard]] std::string label() const {
    return question_.profile.origin == profile::Origin::image
               ? fmt::format("image `{}`", question_.profile.image)
               : fmt::format("profile `{}`", question_.profile.name);
  }

  [[nodiscard]] fs::path memory_path() const {
    const bool is_image = question_.profile.origin == profile::Origin::image;
    return lock::remembered_path(
        system_.environment, question_.root,
        is_image ? reference_.to_string() + " " + question_.platform : question_.profile.name);
  }

  // A remembered pin that no longer fits the profile is simply not used.
  std::optional<PinChoice> from_memory() const {
    const auto text = sys::read_file(memory_path());
    if (!text) return std::nullopt;
    const Lockfile lock = Lockfile::parse(*text, memory_path().string());
    if (!lock::stale_reasons(lock, reference_.to_string(), platforms()).empty())
      return std::nullopt;
    PinnedImage image = to_image(lock, question_, reference_.digest() ? "digest" : "remembered",
                                 "the pin of the first run here");
    return PinChoice{.image = std::move(image),
                     .lock = {},
                     .notes = notes("pinned as in the first run here", lock)};
  }

  [[nodiscard]] std::vector<std::string> platforms() const {
    return question_.profile.platforms.empty() ? std::vector{question_.platform}
                                               : question_.profile.platforms;
  }

  PinChoice from_registry() {
    if (settings_.boolean("offline").value_or(false)) {
      if (reference_.digest()) return {.image = from_digest(reference_, question_), .lock = {}};
      throw Error{"registry.offline",
                  fmt::format("{} has no pin yet, and --offline forbids to ask for one", label())};
    }
    oci::Registry registry = oci::connect(system_, settings_, question_.talk);
    const auto results = lock::resolve_pins({{.name = question_.profile.name,
                                              .image = question_.profile.image,
                                              .platforms = platforms(),
                                              .fallback = question_.profile.fallback}},
                                            registry);
    if (const auto* error = std::get_if<Error>(&results.front())) {
      if (reference_.digest() && error->exit_code() == ExitCode::undetermined) {
        return {
            .image = from_digest(reference_, question_),
            .lock = {},
            .notes = {fmt::format("the registry could not be asked ({}); going by the digest alone",
                                  error->what())}};
      }
      throw *error;
    }
    const Lockfile& lock = std::get<Lockfile>(results.front());
    if (question_.may_remember) remember(lock);
    const std::string pin = reference_.digest() ? "digest" : "remembered";
    return {.image = to_image(lock, question_, pin, "asked of the registry now"),
            .lock = {},
            .notes = notes("pinned to what the tag points at now", lock)};
  }

  [[nodiscard]] std::vector<std::string> notes(const std::string& what,
                                               const Lockfile& lock) const {
    if (reference_.digest()) return {};
    std::vector<std::string> found = fallback_notes(lock);
    const std::string advice =
        question_.profile.origin == profile::Origin::image
            ? ""
            : fmt::format("; `sparkrun lock {}` makes it reviewable", question_.profile.name);
    found.push_back(fmt::format("{} has no lock: {}{}", label(), what, advice));
    return found;
  }

  void remember(const Lockfile& lock) const {
    sys::make_directories(memory_path().parent_path(), 0700);
    sys::write_file_atomically(memory_path(), lock.to_text(), 0600);
  }

  const PinQuestion& question_;
  sys::System& system_;
  const config::Settings& settings_;
  oci::Reference reference_;
};

}  // namespace

PinChoice choose_pin(const PinQuestion& question, sys::System& system,
                     const config::Settings& settings) {
  return Chooser{question, system, settings}.choose();
}

}  // namespace sparkrun::run
