// SPDX-License-Identifier: MIT
#include "run/pull_failure.hpp"

#include <fmt/format.h>

namespace sparkrun::run {

Error explain_pull_failure(const plan::PinnedImage& pinned, const Error& failure,
                           const Witness& witness) {
  const std::string& pinned_digest = pinned.index.empty() ? pinned.manifest : pinned.index;
  if (pinned_digest.empty()) return failure;
  const Digest digest = Digest::parse(pinned_digest);
  const std::vector<oci::ResolveRequest> question = {
      {.reference = oci::Reference::parse(pinned.reference).with_digest(digest),
       .detail = oci::ResolveDetail::configs,
       .platforms = {oci::Platform::parse(pinned.platform)}}};
  try {
    oci::Registry registry = oci::connect(witness.system, witness.settings, witness.talk);
    const oci::ResolveResult answer = registry.resolve(question).at(0);
    const auto* const error = std::get_if<Error>(&answer);
    if (error == nullptr || error->id() != "registry.not_found") return failure;
  } catch (const Error& error) {
    if (error.id() == "interrupted") throw;
    return failure;
  }
  return Error{"registry.locked_gone",
               fmt::format("the registry no longer has {}, which is pinned for {}",
                           digest.to_string(), pinned.reference),
               {{"registry", question.front().reference.registry()}}};
}

}  // namespace sparkrun::run
