// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sparkrun {

// RFC 4648 section 4, with padding.
std::string to_base64(std::string_view bytes);

// Padding may be missing; anything else that is not base64 gives nothing.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace sparkrun
