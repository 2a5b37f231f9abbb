// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sparkrun::oci {

// One way to authenticate that a server offers (RFC 9110, section 11.3).
struct Challenge {
  std::string scheme;                         // lower case: bearer, basic, negotiate
  std::map<std::string, std::string> values;  // keys in lower case: realm, service, scope

  [[nodiscard]] std::string value(std::string_view key) const;
};

// All challenges of all WWW-Authenticate headers, in their order. What cannot be read is left out.
std::vector<Challenge> parse_challenges(std::span<const std::string> headers);

// Bearer (that has a realm) before Basic, wherever they stand; Basic only for one who has a
// password.
std::optional<Challenge> choose_challenge(std::span<const Challenge> challenges, bool has_password);

}  // namespace sparkrun::oci
