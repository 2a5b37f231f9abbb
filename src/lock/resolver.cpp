// SPDX-License-Identifier: MIT
#include "lock/resolver.hpp"

#include <fmt/format.h>

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
  oci::ResolveRequest resolve{.reference = reference, .detail = oci::ResolveDetail::configs};
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
  pin.created = details.image.created;
  pin.download_bytes = details.download_bytes;
  pin.image_env = release_variables(details.image.env);
  return pin;
}

Lockfile to_lockfile(const PinRequest& request, const oci::Resolved& resolved) {
  Lockfile lock{.comment = request.current ? request.current->comment : default_comment(),
                .image = expand(request.image)};
  if (resolved.kind == oci::Kind::index) lock.index = resolved.digest;
  for (const std::string& wanted : request.platforms) {
    const oci::Platform platform = oci::Platform::parse(wanted);
    for (const oci::ResolvedPlatform& found : resolved.platforms) {
      if (found.platform.matches(platform)) lock.platforms.emplace(wanted, to_pin(found));
    }
  }
  return lock;
}

}  // namespace

std::string expand(const std::string& image) { return oci::Reference::parse(image).to_string(); }

bool is_settled(const PinRequest& request) {
  return keeps_pin(request) && request.current->is_complete() &&
         stale_reasons(*request.current, expand(request.image), request.platforms).empty();
}

std::vector<PinResult> resolve_pins(const std::vector<PinRequest>& requests,
                                    oci::Registry& registry) {
  std::vector<oci::ResolveRequest> questions;
  for (const PinRequest& request : requests) {
    if (!is_settled(request)) questions.push_back(to_resolve_request(request));
  }
  std::vector<oci::ResolveResult> answers = registry.resolve(questions);
  auto answer = answers.begin();
  std::vector<PinResult> results;
  for (const PinRequest& request : requests) {
    if (is_settled(request)) {
      results.emplace_back(*request.current);
      continue;
    }
    if (auto* error = std::get_if<Error>(&*answer)) {
      error->add_context(fmt::format("locking profile `{}`", request.name));
      results.emplace_back(*error);
    } else {
      results.emplace_back(to_lockfile(request, std::get<oci::Resolved>(*answer)));
    }
    ++answer;
  }
  return results;
}

}  // namespace sparkrun::lock
