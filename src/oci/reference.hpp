// SPDX-License-Identifier: MIT
#pragma once

#include "base/digest.hpp"

#include <compare>
#include <optional>
#include <string>
#include <string_view>

namespace sparkrun::oci {

// The name of an image, `[HOST[:PORT]/]NAME[:TAG][@DIGEST]`, expanded as docker expands it (the
// grammar and normalisation of distribution/reference): `ubuntu` is docker.io/library/ubuntu.
class Reference {
 public:
  // Throws `reference.malformed`; details {"cause"} is one of invalid-format, name-not-lowercase,
  // name-too-long, digest-format, digest-length, digest-unsupported, ambiguous-64-hex-id.
  static Reference parse(std::string_view text);

  [[nodiscard]] const std::string& registry() const { return registry_; }
  [[nodiscard]] const std::string& repository() const { return repository_; }
  // Only a tag that was written; `latest` is never implied here.
  [[nodiscard]] const std::optional<std::string>& tag() const { return tag_; }
  [[nodiscard]] const std::optional<Digest>& digest() const { return digest_; }

  // The expanded form; where there is neither tag nor digest, with the tag `latest`.
  [[nodiscard]] std::string to_string() const { return name() + suffix(); }
  // Registry and repository.
  [[nodiscard]] std::string name() const { return registry_ + "/" + repository_; }
  // What docker prints: without `docker.io/` and `library/`. For people; not always parsed back.
  [[nodiscard]] std::string familiar() const { return familiar_name() + suffix(); }
  [[nodiscard]] std::string familiar_name() const;

  // The same repository at exactly this digest; a tag is dropped.
  [[nodiscard]] Reference with_digest(const Digest& digest) const;
  // The same repository at this tag; a digest is dropped. Throws `reference.malformed`.
  [[nodiscard]] Reference with_tag(std::string_view tag) const;

  static bool is_valid_tag(std::string_view text);

  auto operator<=>(const Reference&) const = default;

 private:
  Reference() = default;
  [[nodiscard]] std::string suffix() const;

  std::string registry_;
  std::string repository_;
  std::optional<std::string> tag_;
  std::optional<Digest> digest_;
};

}  // namespace sparkrun::oci
