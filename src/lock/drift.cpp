// SPDX-License-Identifier: MIT
#include "lock/drift.hpp"

#include "base/json_value.hpp"
#include "base/secret.hpp"
#include "base/text.hpp"
#include "lock/questions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

namespace sparkrun::lock {
namespace {

using Variables = std::map<std::string, std::string>;

// Where several drifts meet, the last of these that occurs is the answer.
constexpr std::array by_severity = {DriftClass::same,          DriftClass::metadata_only,
                                    DriftClass::repackaged,    DriftClass::config_only,
                                    DriftClass::content,       DriftClass::unknown,
                                    DriftClass::platform_lost, DriftClass::tag_gone};

DriftClass worse_of(DriftClass a, DriftClass b) {
  return std::ranges::find(by_severity, a) < std::ranges::find(by_severity, b) ? b : a;
}

Variables variables_of(const std::vector<std::string>& env) {
  Variables variables;
  for (const std::string& entry : env) {
    const auto [name, value] = split_once(entry, '=');
    variables.insert_or_assign(std::string{name}, std::string{value});
  }
  return variables;
}

// As a Dockerfile writes them: a list of words, or a text.
Variables settings_of(const oci::ImageConfig& image) {
  Variables settings;
  const auto add = [&](const std::string& name, const std::string& value) {
    if (!value.empty()) settings.emplace(name, value);
  };
  const auto words = [](const std::vector<std::string>& list) {
    return list.empty() ? "" : to_json_line(Json(redact_words(list)));
  };
  add("command", words(image.command));
  add("entrypoint", words(image.entrypoint));
  add("user", image.user);
  add("working_directory", image.working_directory);
  return settings;
}

std::vector<Change> changes(const Variables& before, const Variables& after) {
  std::vector<Change> found;
  for (const auto& [name, value] : before) {
    const auto other = after.find(name);
    if (other == after.end())
      found.push_back({name, value, std::nullopt});
    else if (other->second != value)
      found.push_back({name, value, other->second});
  }
  for (const auto& [name, value] : after) {
    if (!before.contains(name)) found.push_back({name, std::nullopt, value});
  }
  std::ranges::sort(found, {}, &Change::name);
  return found;
}

Build build_of(const PlatformPin& pin) { return {pin.manifest, pin.config, pin.chain}; }

Build build_of(const oci::ResolvedPlatform& found) {
  if (!found.details) return {found.digest, {}, {}};
  return {found.digest, found.details->config, found.details->chain};
}

const oci::ResolvedPlatform* find_platform(const oci::Resolved& resolved,
                                           const std::string& wanted) {
  const oci::Platform platform = oci::Platform::parse(wanted);
  const auto exact =
      std::ranges::find(resolved.platforms, platform, &oci::ResolvedPlatform::platform);
  if (exact != resolved.platforms.end()) return &*exact;
  const auto found = std::ranges::find_if(
      resolved.platforms,
      [&](const oci::ResolvedPlatform& entry) { return entry.platform.matches(platform); });
  return found != resolved.platforms.end() ? &*found : nullptr;
}

bool is_gone(const oci::ResolveResult& answer) {
  const auto* const error = std::get_if<Error>(&answer);
  return error != nullptr && error->id() == "registry.not_found";
}

// The second round of one lock whose tag points elsewhere: details of both sides of each platform
// that is not the same, and whether the locked root is still there.
class SecondRound {
 public:
  SecondRound(const LockedProfile& locked, const oci::Resolved& now, Questions& questions)
      : lock_(locked.lock), now_(now), reference_(oci::Reference::parse(locked.lock.image)) {
    root_ = questions.add({.reference = reference_.with_digest(locked_root(lock_))});
    for (const auto& [platform, pin] : lock_.platforms) {
      const oci::ResolvedPlatform* const found = find_platform(now_, platform);
      if (found != nullptr && found->digest == pin.manifest) continue;
      // The index says for which platform a build is, whatever its config says.
      const auto build = [&](const Digest& digest) {
        return questions.add(
            {.reference = reference_.with_digest(digest), .detail = oci::ResolveDetail::configs});
      };
      pairs_.emplace(
          platform,
          Pair{build(pin.manifest),
               found != nullptr ? build(found->digest)
                                : questions.add(details_request(reference_.with_digest(now_.digest),
                                                                oci::Platform::parse(platform)))});
    }
  }

  void finish(const Questions& questions, Drift& drift) const {
    note_if_gone(questions.answer(root_), locked_root(lock_), drift);
    for (const auto& [platform, pin] : lock_.platforms) {
      PlatformDrift result{.platform = platform,
                           .drift = DriftClass::metadata_only,
                           .locked = pin.manifest,
                           .now = pin.manifest,
                           .locked_created = pin.created,
                           .now_created = pin.created};
      if (const auto pair = pairs_.find(platform); pair != pairs_.end()) {
        note_if_gone(questions.answer(pair->second.before), pin.manifest, drift);
        compare_builds(questions.answer(pair->second.before), questions.answer(pair->second.after),
                       pin, result);
      }
      drift.platforms.push_back(std::move(result));
    }
  }

 private:
  struct Pair {
    size_t before;
    size_t after;
  };

  static void note_if_gone(const oci::ResolveResult& answer, const Digest& digest, Drift& drift) {
    if (!is_gone(answer)) return;
    const std::string text = digest.to_string();
    if (std::ranges::find(drift.gone, text) == drift.gone.end()) drift.gone.push_back(text);
  }

  // Where the locked build is gone, its class is told by what the lock has kept.
  static void compare_builds(const oci::ResolveResult& before, const oci::ResolveResult& after,
                             const PlatformPin& pin, PlatformDrift& result) {
    result.now.reset();
    result.now_created.clear();
    if (const auto* const error = std::get_if<Error>(&after)) {
      result.drift = error->exit_code() == ExitCode::no_platform ? DriftClass::platform_lost
                                                                 : DriftClass::unknown;
      result.error = *error;
      return;
    }
    const oci::ResolvedPlatform& now = std::get<oci::Resolved>(after).platforms.at(0);
    result.now = now.digest;
    result.now_created = now.details->image.created;
    const auto* const was = std::get_if<oci::Resolved>(&before);
    const Build old = was != nullptr ? build_of(was->platforms.at(0)) : build_of(pin);
    result.drift = classify(old, build_of(now));
    if (was == nullptr) return;
    result.locked_created = was->platforms.at(0).details->image.created;
    result.difference = compare(*was->platforms.at(0).details, *now.details);
  }

  const Lockfile& lock_;
  const oci::Resolved& now_;
  oci::Reference reference_;
  size_t root_ = 0;
  std::map<std::string, Pair> pairs_;
};

Drift unchanged(Drift drift, const Lockfile& lock) {
  for (const auto& [platform, pin] : lock.platforms) {
    drift.platforms.push_back({.platform = platform,
                               .drift = DriftClass::same,
                               .locked = pin.manifest,
                               .now = pin.manifest,
                               .locked_created = pin.created,
                               .now_created = pin.created});
  }
  return drift;
}

// What the lock says of a build and what the registry serves under its digest.
std::vector<std::string> contradictions(const PlatformPin& pin,
                                        const oci::ResolvedPlatform& found) {
  std::vector<std::string> reasons;
  const auto differ = [&](std::string_view key, const std::string& locked,
                          const std::string& served) {
    if (!locked.empty() && locked != served) {
      reasons.push_back(fmt::format("{}: the lock says {}, the registry {}", key, locked, served));
    }
  };
  const auto text = [](const std::optional<Digest>& digest) {
    return digest ? digest->to_string() : "";
  };
  differ("manifest", pin.manifest.to_string(), found.digest.to_string());
  differ("config", text(pin.config), found.details->config.to_string());
  differ("chain", text(pin.chain), found.details->chain.to_string());
  differ("created", pin.created, found.details->image.created);
  return reasons;
}

}  // namespace

std::string_view to_string(DriftClass drift) {
  switch (drift) {
    case DriftClass::same:
      return "same";
    case DriftClass::metadata_only:
      return "metadata-only";
    case DriftClass::repackaged:
      return "repackaged";
    case DriftClass::config_only:
      return "config-only";
    case DriftClass::content:
      return "content";
    case DriftClass::platform_lost:
      return "platform-lost";
    case DriftClass::tag_gone:
      return "tag-gone";
    case DriftClass::unknown:
      break;
  }
  return "unknown";
}

ExitCode exit_code(DriftClass drift) {
  switch (drift) {
    case DriftClass::same:
    case DriftClass::metadata_only:
      return ExitCode::ok;
    case DriftClass::repackaged:
    case DriftClass::config_only:
    case DriftClass::content:
      return ExitCode::no;
    case DriftClass::platform_lost:
      return ExitCode::no_platform;
    case DriftClass::tag_gone:
      return ExitCode::gone;
    case DriftClass::unknown:
      break;
  }
  return ExitCode::undetermined;
}

ImageDifference compare(const oci::ImageDetails& before, const oci::ImageDetails& after) {
  ImageDifference difference{
      .env = changes(variables_of(before.image.env), variables_of(after.image.env)),
      .labels = changes(before.image.labels, after.image.labels),
      .settings = changes(settings_of(before.image), settings_of(after.image))};
  std::set<std::string> old_layers;
  for (const oci::Descriptor& layer : before.layers) old_layers.insert(layer.digest.to_string());
  std::set<std::string> shared;
  for (const oci::Descriptor& layer : after.layers) {
    const std::string digest = layer.digest.to_string();
    if (old_layers.contains(digest)) {
      shared.insert(digest);
      ++difference.layers_shared;
    } else {
      ++difference.layers_new;
      difference.new_bytes += layer.size;
    }
  }
  difference.layers_gone =
      static_cast<size_t>(std::ranges::count_if(before.layers, [&](const oci::Descriptor& layer) {
        return !shared.contains(layer.digest.to_string());
      }));
  return difference;
}

DriftClass classify(const Build& before, const Build& after) {
  if (before.manifest == after.manifest) return DriftClass::metadata_only;
  if (before.config && before.config == after.config) return DriftClass::repackaged;
  if (before.chain && before.chain == after.chain) return DriftClass::config_only;
  return DriftClass::content;
}

DriftClass Drift::drift() const {
  if (error) {
    return error->id() == "registry.not_found" ? DriftClass::tag_gone : DriftClass::unknown;
  }
  DriftClass worst = DriftClass::same;
  for (const PlatformDrift& platform : platforms) worst = worse_of(worst, platform.drift);
  return worst;
}

ExitCode Drift::exit_code() const {
  ExitCode code = lock::exit_code(drift());
  for (const PlatformDrift& platform : platforms) {
    code = worse(code, lock::exit_code(platform.drift));
  }
  return gone.empty() ? code : worse(code, ExitCode::gone);
}

std::vector<Drift> find_drift(const std::vector<LockedProfile>& locks, oci::Registry& registry) {
  Questions first;
  std::vector<std::pair<size_t, size_t>> numbers;  // of the wanted reference, and of its stand-in
  for (const LockedProfile& locked : locks) {
    const size_t wanted = first.add({.reference = oci::Reference::parse(locked.lock.image)});
    const std::string& taken = locked.lock.taken;
    numbers.emplace_back(
        wanted, taken.empty() ? wanted : first.add({.reference = oci::Reference::parse(taken)}));
  }
  first.ask(registry);

  Questions second;
  std::map<size_t, SecondRound> second_rounds;
  std::vector<Drift> drifts;
  for (size_t i = 0; i < locks.size(); ++i) {
    const Lockfile& lock = locks[i].lock;
    Drift drift{.name = locks[i].name, .reference = lock.image, .locked = locked_root(lock)};
    const auto [wanted, stand_in] = numbers[i];
    const bool is_standing_in = stand_in != wanted && is_gone(first.answer(wanted));
    if (is_standing_in) drift.reference = lock.taken;
    const oci::ResolveResult& answer = first.answer(is_standing_in ? stand_in : wanted);
    if (const auto* const error = std::get_if<Error>(&answer)) {
      drift.error = *error;
      drifts.push_back(std::move(drift));
      continue;
    }
    const auto& now = std::get<oci::Resolved>(answer);
    drift.now = now.digest;
    if (now.digest == drift.locked) {
      drifts.push_back(unchanged(std::move(drift), lock));
      continue;
    }
    second_rounds.emplace(i, SecondRound{locks[i], now, second});
    drifts.push_back(std::move(drift));
  }
  second.ask(registry);
  for (const auto& [i, round] : second_rounds) round.finish(second, drifts[i]);
  return drifts;
}

std::vector<std::vector<Error>> check_locked(const std::vector<LockedProfile>& locks,
                                             oci::Registry& registry) {
  Questions questions;
  std::vector<std::map<std::string, size_t>> numbers;  // of each lock, by platform
  for (const LockedProfile& locked : locks) {
    const oci::Reference reference = oci::Reference::parse(locked.lock.image);
    std::map<std::string, size_t>& mine = numbers.emplace_back();
    // By the root, so that a build that the index does not hold is noticed.
    for (const auto& [platform, pin] : locked.lock.platforms) {
      mine.emplace(platform,
                   questions.add(details_request(reference.with_digest(locked_root(locked.lock)),
                                                 oci::Platform::parse(platform))));
    }
  }
  questions.ask(registry);

  std::vector<std::vector<Error>> problems;
  for (size_t i = 0; i < locks.size(); ++i) {
    std::vector<Error>& mine = problems.emplace_back();
    for (const auto& [platform, number] : numbers[i]) {
      const oci::ResolveResult& answer = questions.answer(number);
      if (const auto* const error = std::get_if<Error>(&answer)) {
        const bool is_told = std::ranges::any_of(mine, [&](const Error& told) {
          return std::string_view{told.what()} == error->what();
        });
        if (!is_told) mine.push_back(*error);
        continue;
      }
      const auto reasons = contradictions(locks[i].lock.platforms.at(platform),
                                          std::get<oci::Resolved>(answer).platforms.at(0));
      if (reasons.empty()) continue;
      mine.push_back(Error{
          "lock.invalid",
          fmt::format("the lock of `{}` contradicts the registry for {}", locks[i].name, platform),
          {{"profile", locks[i].name}},
          reasons});
    }
  }
  return problems;
}

}  // namespace sparkrun::lock
