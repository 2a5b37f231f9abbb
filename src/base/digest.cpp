// SPDX-License-Identifier: MIT
#include "base/digest.hpp"

#include "base/error.hpp"
#include "base/text.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>

namespace sparkrun {
namespace {

std::string hash(const EVP_MD* algorithm, std::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> out{};
  unsigned int length = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), out.data(), &length, algorithm, nullptr) != 1) {
    throw Error{"bug", "OpenSSL could not compute a digest"};
  }
  return {out.begin(), out.begin() + length};
}

}  // namespace

std::string sha256(std::string_view bytes) { return hash(EVP_sha256(), bytes); }
std::string sha512(std::string_view bytes) { return hash(EVP_sha512(), bytes); }
std::string sha256_hex(std::string_view bytes) { return to_hex(sha256(bytes)); }

bool Digest::is_valid(std::string_view text) {
  const auto [algorithm, hex] = split_once(text, ':');
  const size_t wanted = algorithm == "sha256" ? 64 : algorithm == "sha512" ? 128 : 0;
  return wanted != 0 && is_lower_hex(hex, wanted);
}

Digest Digest::parse(std::string_view text) {
  if (!is_valid(text)) {
    throw Error{"digest.malformed",
                fmt::format("`{}` is not a sha256 or sha512 digest", printable(text))};
  }
  return Digest{std::string{text}};
}

Digest Digest::sha256_of(std::string_view bytes) { return Digest{"sha256:" + sha256_hex(bytes)}; }

bool Digest::matches(std::string_view bytes) const {
  const std::string actual = text_.starts_with("sha512:") ? sha512(bytes) : sha256(bytes);
  return hex() == to_hex(actual);
}

std::string Digest::hex() const { return text_.substr(text_.find(':') + 1); }

}  // namespace sparkrun
