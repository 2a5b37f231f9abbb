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
  // Two builds for one platform are an error, not a warning.
  bool refuses_twins = false;
  // Of a reference with tag and digest: also say where the tag points now.
  bool asks_for_tag = false;

  auto operator<=>(const ResolveRequest&) const = default;
};

struct ImageDetails {
  Digest config;
  Digest chain;                    // ChainID of the top layer
  long long download_bytes = 0;    // of the layers, compressed
  std::vector<Descriptor> layers;  // lowest first
  ImageConfig image;
};

struct ResolvedPlatform {
  Platform platform;  // as it was asked for, else as the index says it
  Digest digest;      // of its manifest
  long long manifest_bytes = 0;
  std::optional<ImageDetails> details;
};

// What the registry says of our quota (Docker Hub's `ratelimit-limit: 100;w=21600`).
struct RateLimit {
  long long limit = 0;
  long long remaining = 0;
  long long window_seconds = 0;  // 0: not said
};

// Where a tag points, beside the digest that the reference pins.
struct TagNow {
  std::optional<Digest> digest;  // nothing: it is gone, or could not be asked for
  bool is_gone = false;
  // Its digest is another one, and so are those of its platforms.
  bool has_moved = false;
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
  std::string endpoint;  // the origin that answered: https://registry-1.docker.io
  std::string login;     // whose login it accepted; empty: nobody's
  std::optional<RateLimit> rate_limit;
  std::optional<TagNow> tag;
  std::vector<std::string> warnings;
  std::vector<std::string> notes;  // for those who want to know more
};

using ResolveResult = std::variant<Resolved, Error>;

// One reference, from the first request to the verified answer. Every body is hashed here and
// compared with the digest that was asked for and with the one that the registry announces.
class Resolution final : public RepositoryConversation {
 public:
  Resolution(const ResolveRequest& request, Client& client);

  // Once the conversation is over.
  [[nodiscard]] ResolveResult result() const;

 protected:
  [[nodiscard]] Question first_question() override;
  std::optional<Question> on_answer(const sys::HttpResponse& response) override;

 private:
  enum class Expecting { root, nested_index, manifest, config, tag, tag_content };
  struct Nested {
    Descriptor descriptor;
    int depth;
  };

  std::optional<Question> on_root(const sys::HttpResponse& response);
  std::optional<Question> on_content(const sys::HttpResponse& response);
  std::optional<Question> on_config(const sys::HttpResponse& response);
  std::optional<Question> on_tag(const sys::HttpResponse& response);
  std::optional<Question> on_tag_content(const sys::HttpResponse& response);
  // After an answer of any kind: what is still to be asked.
  std::optional<Question> next();
  std::optional<Question> next_content();
  void add_children(const Manifest& index, int depth);
  void choose_platforms();
  [[nodiscard]] const Descriptor* find_child(const Platform& wanted) const;
  [[nodiscard]] Error platform_missing(const Platform& wanted) const;
  [[nodiscard]] Question ask_by_digest(Expecting what, const Descriptor& descriptor);
  [[nodiscard]] Question ask_for_tag(Expecting what);
  void notice_twins(const Platform& wanted);

  const ResolveRequest& request_;
  std::vector<Platform> wanted_;
  std::optional<RateLimit> rate_limit_;
  std::vector<std::string> warnings_;
  std::optional<Resolved> resolved_;

  Expecting expecting_ = Expecting::root;
  std::optional<Descriptor> asked_for_;  // what the answer must hash to
  std::deque<Nested> nested_;            // indexes within the index, not looked into yet
  std::vector<Descriptor> children_;
  size_t nameless_ = 0;  // children that do not say their platform
  bool has_chosen_ = false;
  Manifest manifest_;  // whose config comes next
  size_t place_ = 0;   // in resolved_->platforms: whose manifest and config come next
};

}  // namespace sparkrun::oci
