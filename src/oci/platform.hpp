// SPDX-License-Identifier: MIT
#pragma once

#include <compare>
#include <string>
#include <string_view>

namespace sparkrun::oci {

// What an image is built for, in one spelling (OCI image-spec, image-index.md, "platform"):
// arm64/v8 is arm64, arm is arm/v7, aarch64 and x86_64 are arm64 and amd64.
struct Platform {
  std::string os;
  std::string architecture;
  std::string variant;  // empty: the baseline of the architecture

  // `OS/ARCHITECTURE[/VARIANT]`. Throws `platform.malformed`.
  static Platform parse(std::string_view text);
  // Whether a text may be one of its parts. Names are printed, so nothing else may pass.
  static bool is_part(std::string_view text);
  // From the three members of a descriptor or an image config.
  static Platform of(std::string_view os, std::string_view architecture, std::string_view variant);

  [[nodiscard]] std::string to_string() const;

  // Whether a machine of platform `wanted` runs this: equal, or the baseline of the same
  // architecture.
  [[nodiscard]] bool matches(const Platform& wanted) const;

  // Attestations stand in an index as `unknown/unknown` (BuildKit); nothing runs them.
  [[nodiscard]] bool is_unknown() const { return os == "unknown" || architecture == "unknown"; }

  auto operator<=>(const Platform&) const = default;
};

}  // namespace sparkrun::oci
