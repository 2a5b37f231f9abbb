// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace sparkrun::sys {

// Whether an IP address (in text, IPv6 with or without brackets) is one of the internet: not of
// this machine, a private network, a link, and not a group. Text that is no address is not one.
// Sources: RFC 1122 (0/8, 127/8), 1918, 3927, 6598, 4193, 4291; IPv4 within IPv6 counts as IPv4.
bool is_public_address(std::string_view text);

// Whether it is an address at all, not a name.
bool is_address(std::string_view text);

}  // namespace sparkrun::sys
