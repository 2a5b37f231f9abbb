// SPDX-License-Identifier: MIT
#include "sys/address.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace sparkrun::sys {
namespace {

struct Block {
  uint32_t address;
  int bits;
};
constexpr auto reserved_blocks = std::to_array<Block>({
    {0x00000000, 8},   // this network
    {0x0a000000, 8},   // private
    {0x64400000, 10},  // carrier-grade NAT
    {0x7f000000, 8},   // loopback
    {0xa9fe0000, 16},  // link-local; cloud metadata
    {0xac100000, 12},  // private
    {0xc0a80000, 16},  // private
    {0xe0000000, 3},   // multicast and reserved
});

bool is_public(uint32_t address) {
  return std::ranges::none_of(reserved_blocks, [&](const Block& block) {
    return (address ^ block.address) >> (32 - block.bits) == 0;
  });
}

std::string without_brackets(std::string_view text) {
  if (text.starts_with('[') && text.ends_with(']')) text = text.substr(1, text.size() - 2);
  return std::string{text.substr(0, text.find('%'))};  // a zone says which link
}

std::optional<uint32_t> parse_v4(const std::string& text) {
  in_addr address{};
  if (inet_pton(AF_INET, text.c_str(), &address) != 1) return std::nullopt;
  return ntohl(address.s_addr);
}

std::optional<in6_addr> parse_v6(const std::string& text) {
  in6_addr address{};
  if (inet_pton(AF_INET6, text.c_str(), &address) != 1) return std::nullopt;
  return address;
}

// The last four bytes of an IPv4-mapped address, or of one behind NAT64 (RFC 6052).
std::optional<uint32_t> embedded_v4(const in6_addr& address) {
  constexpr std::array<uint8_t, 12> nat64 = {0, 0x64, 0xff, 0x9b};
  const auto& bytes = address.s6_addr;
  if (!IN6_IS_ADDR_V4MAPPED(&address) && !std::equal(nat64.begin(), nat64.end(), bytes)) {
    return std::nullopt;
  }
  return (uint32_t{bytes[12]} << 24) | (uint32_t{bytes[13]} << 16) | (uint32_t{bytes[14]} << 8) |
         bytes[15];
}

bool is_public(const in6_addr& address) {
  if (const auto v4 = embedded_v4(address)) return is_public(*v4);
  const bool is_unique_local = (address.s6_addr[0] & 0xfe) == 0xfc;
  return !(IN6_IS_ADDR_UNSPECIFIED(&address) || IN6_IS_ADDR_LOOPBACK(&address) ||
           IN6_IS_ADDR_LINKLOCAL(&address) || IN6_IS_ADDR_SITELOCAL(&address) ||
           IN6_IS_ADDR_MULTICAST(&address) || is_unique_local);
}

}  // namespace

bool is_public_address(std::string_view text) {
  const std::string bare = without_brackets(text);
  if (const auto v4 = parse_v4(bare)) return is_public(*v4);
  const auto v6 = parse_v6(bare);
  return v6 && is_public(*v6);
}

bool is_address(std::string_view text) {
  const std::string bare = without_brackets(text);
  return parse_v4(bare) || parse_v6(bare);
}

}  // namespace sparkrun::sys
