// SPDX-License-Identifier: MIT
#include "base/ulid.hpp"

#include "base/text.hpp"

namespace sparkrun {
namespace {

constexpr std::string_view alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

}  // namespace

std::string make_ulid(TimePoint time, const std::array<uint8_t, 10>& randomness) {
  std::string ulid(26, '0');
  auto milliseconds = static_cast<uint64_t>(time.time_since_epoch().count());
  for (size_t at = 10; at-- > 0;) {
    ulid[at] = alphabet[milliseconds & 31];
    milliseconds >>= 5;
  }
  uint32_t buffer = 0;
  int bits = 0;
  size_t at = 10;
  for (const uint8_t byte : randomness) {
    buffer = (buffer << 8) | byte;
    for (bits += 8; bits >= 5; bits -= 5) ulid[at++] = alphabet[(buffer >> (bits - 5)) & 31];
  }
  return ulid;
}

bool is_ulid(std::string_view text) {
  return text.size() == 26 && text.front() <= '7' &&
         text.find_first_not_of(alphabet) == std::string_view::npos;
}

bool names_ulid(std::string_view text, std::string_view ulid) {
  return text.size() >= ulid_prefix_length_min && ulid.starts_with(to_upper(text));
}

}  // namespace sparkrun
