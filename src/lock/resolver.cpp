// SPDX-License-Identifier: MIT
#include "lock/resolver.hpp"

#include "base/text.hpp"
#include "base/time.hpp"
#include "base/version.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sparkrun::lock {
namespace {

// The digest that a standing pin was made of.
std::optional<Digest> pinned_digest(const Lockfile& lock) {
  if (lock.index) return lock.index;
  if (lock.platforms.size() == 1) return lock.platforms.begin()->second.manifest;
  return std::nullopt;
}

bool keeps_pin(const PinRequest& request) {
  return !request.update && !request.update_to && request.current &&
         request.current->image == expand(request.image);
}

oci::ResolveRequest to_resolve_request(const PinRequest& request) {
  oci::Reference reference = oci::Reference::parse(request.image);
  if (request.update_to)
    reference = reference.with_digest(*request.update_to);
  else if (keeps_pin(request)) {
    if (const auto digest = pinned_digest(*request.current))
      reference = reference.with_digest(*digest);
  }
  oci::ResolveRequest resolve{
      .reference = reference, .detail = oci::ResolveDetail::configs, .refuses_twins = true};
  for (const std::string& platform : request.platforms) {
    resolve.platforms.push_back(oci::Platform::parse(platform));
  }
  return resolve;
}

PlatformPin to_pin(const oci::ResolvedPlatform& platform) {
  PlatformPin pin{.manifest = platform.digest};
  if (!platform.details) return pin;
  const oci::ImageDetails& details = *platform.details;
  pin.config = details.config;
  pin.chain = details.chain;
  // A lock is for people to review; what is no time is not kept.
  if (parse_rfc3339(details.image.created)) pin.created = details.image.created;
  pin.download_bytes = details.download_bytes;
  pin.image_env = release_variables(details.image.env);
  return pin;
}

// A request on its way to its answer.
struct Question {
  const PinRequest* request;
  oci::ResolveRequest resolve;
  oci::ResolveResult answer = Error{"bug", "not asked"};
  std::string taken;  // the fallback that is asked for instead
};

void ask(std::vector<Question>& questions, oci::Registry& registry) {
  std::vector<oci::ResolveRequest> requests;
  for (const Question& question : questions) requests.push_back(question.resolve);
  std::vector<oci::ResolveResult> answers = registry.resolve(requests);
  for (size_t i = 0; i < questions.size(); ++i) questions[i].answer = std::move(answers[i]);
}

// Only a tag may be replaced: a digest names one content.
bool wants_fallback(const Question& question) {
  const auto* const error = std::get_if<Error>(&question.answer);
  return error != nullptr && error->id() == "registry.not_found" &&
         !question.request->fallback.empty() && !question.resolve.reference.digest();
}

// Of the repositories whose wanted tags are not there, the newest tags that may stand in.
void take_fallbacks(std::vector<Question>& questions, oci::Registry& registry) {
  std::vector<size_t> places;
  std::vector<oci::Reference> references;
  for (size_t i = 0; i < questions.size(); ++i) {
    if (!wants_fallback(questions[i])) continue;
    places.push_back(i);
    references.push_back(questions[i].resolve.reference);
  }
  if (places.empty()) return;
  const std::vector<oci::TagsResult> listings = registry.list_tags(references);
  std::vector<Question> second;
  std::vector<size_t> second_places;
  for (size_t i = 0; i < places.size(); ++i) {
    const auto* const tags = std::get_if<std::vector<std::string>>(&listings[i]);
    if (tags == nullptr) continue;  // the first error says what is wrong
    const auto tag = newest_match(*tags, questions[places[i]].request->fallback);
    if (!tag) continue;
    Question instead = questions[places[i]];
    instead.resolve.reference = references[i].with_tag(*tag);
    instead.taken = instead.resolve.reference.to_string();
    second.push_back(std::move(instead));
    second_places.push_back(places[i]);
  }
  ask(second, registry);
  for (size_t i = 0; i < second.size(); ++i) questions[second_places[i]] = std::move(second[i]);
}

Lockfile to_lockfile(const Question& question, const oci::Resolved& resolved) {
  const PinRequest& request = *question.request;
  Lockfile lock{.comment = request.current ? request.current->comment : default_comment(),
                .image = expand(request.image)};
  if (!question.taken.empty()) {
    lock.taken = question.taken;
    lock.taken_because = "the registry does not have the wanted tag";
  } else if (keeps_pin(request)) {
    lock.taken = request.current->taken;
    lock.taken_because = request.current->taken_because;
  }
  if (resolved.kind == oci::Kind::index) lock.index = resolved.digest;
  for (const std::string& wanted : request.platforms) {
    const oci::Platform platform = oci::Platform::parse(wanted);
    for (const oci::ResolvedPlatform& found : resolved.platforms) {
      if (found.platform != platform) continue;  // it bears the name that was asked for
      PlatformPin pin = to_pin(found);
      pin.index = lock.index;
      lock.platforms.emplace(wanted, std::move(pin));
    }
  }
  return lock;
}

PinResult to_result(const Question& question) {
  if (const auto* const error = std::get_if<Error>(&question.answer)) {
    Error told{*error};
    told.add_context(fmt::format("locking profile `{}`", question.request->name));
    return told;
  }
  return to_lockfile(question, std::get<oci::Resolved>(question.answer));
}

}  // namespace

std::string expand(const std::string& image) { return oci::Reference::parse(image).to_string(); }

bool is_settled(const PinRequest& request) {
  return keeps_pin(request) && request.current->is_complete() &&
         stale_reasons(*request.current, expand(request.image), request.platforms).empty();
}

std::optional<std::string> newest_match(const std::vector<std::string>& tags,
                                        const std::vector<std::string>& patterns) {
  std::optional<std::string> newest;
  for (const std::string& tag : tags) {
    const bool is_match = std::ranges::any_of(
        patterns, [&](const std::string& pattern) { return matches_glob(pattern, tag); });
    if (is_match && (!newest || Version::parse(*newest) < Version::parse(tag))) newest = tag;
  }
  return newest;
}

std::vector<PinResult> resolve_pins(const std::vector<PinRequest>& requests,
                                    oci::Registry& registry) {
  std::vector<Question> questions;
  for (const PinRequest& request : requests) {
    if (!is_settled(request)) questions.push_back({&request, to_resolve_request(request)});
  }
  ask(questions, registry);
  take_fallbacks(questions, registry);
  auto question = questions.begin();
  std::vector<PinResult> results;
  for (const PinRequest& request : requests) {
    if (is_settled(request))
      results.emplace_back(*request.current);
    else
      results.push_back(to_result(*question++));
  }
  return results;
}

}  // namespace sparkrun::lock
