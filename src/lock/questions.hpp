// SPDX-License-Identifier: MIT
#pragma once

#include "oci/registry.hpp"

#include <string>
#include <vector>

namespace sparkrun::lock {

// Questions that several places have, asked together; each place keeps the number of its own.
class Questions {
 public:
  size_t add(oci::ResolveRequest request) {
    requests_.push_back(std::move(request));
    return requests_.size() - 1;
  }
  void ask(oci::Registry& registry) { answers_ = registry.resolve(requests_); }
  [[nodiscard]] const oci::ResolveResult& answer(size_t number) const {
    return answers_.at(number);
  }

 private:
  std::vector<oci::ResolveRequest> requests_;
  std::vector<oci::ResolveResult> answers_;
};

// The details of one build.
inline oci::ResolveRequest details_request(const oci::Reference& reference,
                                           const oci::Platform& platform) {
  return {.reference = reference, .detail = oci::ResolveDetail::configs, .platforms = {platform}};
}

}  // namespace sparkrun::lock
