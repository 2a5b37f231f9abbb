// SPDX-License-Identifier: MIT
#pragma once

#include "oci/image_config.hpp"
#include "oci/manifest.hpp"
#include "oci/session.hpp"

#include <compare>
#include <deque>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace sparkrun::oci {

enum class ResolveDetail {
  listing,  // what the index says: one request
  configs,  // also the manifest and config of each wanted platform: two more for each
};

struct ResolveRequest {
  Reference reference;
  // The digest wanted is that of this platform's child, not the tag's own.
  std::optional<Platform> platform;
  ResolveDetail detail = ResolveDetail::listing;
  // Those that must exist; empty: whatever there is.
  std::vector<Platform> platforms;

  auto operator<=>(const ResolveRequest&) const = default;
};

struct ImageDetails {
  Digest config;
  Digest chain;                  // ChainID of the top layer
  long long download_bytes = 0;  // of the layers, compressed
  ImageConfig image;
};

struct ResolvedPlatform {
  Platform platform;  // as it was asked for, else as the index says it
  Digest digest;      // of its manifest
  long long manifest_bytes = 0;
  std::optional<ImageDetails> details;
};

struct Resolved {
  Reference reference;
  Digest digest;
  Kind kind = Kind::manifest;
  std::string media_type;
  long long manifest_bytes = 0;
  // Of an index: its children, or those wanted. Of a single manifest: empty, unless a platform or
  // details were wanted (its platform stands in the config, which costs a request).
  std::vector<ResolvedPlatform> platforms;
  int requests = 0;
  std::vector<std::string> warnings;
};

using ResolveResult = std::variant<Resolved, Error>;

// One reference, from the first request to the verified answer. Every body is hashed here and
// compared with the digest that was asked for and with the one that the registry announces.
class Resolution final : public RepositoryConversation {
 public:
  Resolution(const ResolveRequest& request, Access& access, const Credentials& credentials,
             const RegistryOptions& options);

  // Once the conversation is over.
  [[nodiscard]] ResolveResult result() const;

 protected:
  [[nodiscard]] Question first_question() const override;
  std::optional<Question> on_answer(const sys::HttpResponse& response) override;

 private:
  enum class Expecting { root, nested_index, manifest, config };
  struct Nested {
    Descriptor descriptor;
    int depth;
  };

  std::optional<Question> on_root(const sys::HttpResponse& response);
  std::optional<Question> on_config(const sys::HttpResponse& response);
  std::optional<Question> next();
  void add_children(const Manifest& index, int depth);
  void choose_platforms();
  [[nodiscard]] const Descriptor* find_child(const Platform& wanted) const;
  [[nodiscard]] Error platform_missing(const Platform& wanted) const;
  [[nodiscard]] Question ask_by_digest(Expecting what, const Descriptor& descriptor);

  const ResolveRequest& request_;
  const Access& shared_;
  std::vector<Platform> wanted_;
  std::optional<Resolved> resolved_;

  Expecting expecting_ = Expecting::root;
  std::optional<Descriptor> asked_for_;  // what the answer must hash to
  std::deque<Nested> nested_;            // indexes within the index, not looked into yet
  std::vector<Descriptor> children_;
  bool has_chosen_ = false;
  Manifest manifest_;  // whose config comes next
  size_t place_ = 0;   // in resolved_->platforms: whose manifest and config come next
};

}  // namespace sparkrun::oci
