// SPDX-License-Identifier: MIT
#pragma once

#include "oci/resolution.hpp"
#include "oci/session.hpp"
#include "sys/http.hpp"

#include <set>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace sparkrun::oci {

constexpr size_t tags_max = 10'000;
constexpr int tag_pages_max = 20;

using TagsResult = std::variant<std::vector<std::string>, Error>;

// `registry.offline`: what would have to be asked for.
Error offline_error(const Reference& reference);

// Asks registries; what it learns of them (tokens, how to reach them) it keeps. What one reference
// meets is its result; only `interrupted` and bugs are thrown.
class Registry {
 public:
  Registry(sys::Http& http, Credentials credentials, RegistryOptions options,
           Certificates certificates = {});

  // All side by side; the results are in the order of the requests. Equal requests are asked once.
  std::vector<ResolveResult> resolve(std::span<const ResolveRequest> requests);

  // The tags of each reference's repository, as the registry sorts them, without the `sha256-...`
  // ones that hold signatures and attestations. More than `tags_max` are an error: the newest might
  // be missing.
  std::vector<TagsResult> list_tags(std::span<const Reference> references);

  // For conversations of other kinds: what they share, and the loop that drives them.
  [[nodiscard]] Client& client() { return client_; }
  void drive(std::span<sys::HttpConversation* const> conversations) { http_.run(conversations); }

 private:
  void warn(const std::vector<ResolveResult>& results);

  sys::Http& http_;
  Client client_;
  std::set<std::string> warned_;
};

}  // namespace sparkrun::oci
