// SPDX-License-Identifier: MIT
#include "base/digest.hpp"

#include "base/error.hpp"
#include "base/text.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>
#include <new>
#include <utility>

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

EVP_MD_CTX* context_of(void* raw) { return static_cast<EVP_MD_CTX*>(raw); }

void check(int result) {
  if (result != 1) throw Error{"bug", "OpenSSL could not compute a digest"};
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

void Hasher::Free::operator()(void* context) const { EVP_MD_CTX_free(context_of(context)); }

Hasher::Hasher(Digest expected) : expected_(std::move(expected)), context_(EVP_MD_CTX_new()) {
  if (!context_) throw std::bad_alloc{};
  restart();
}

void Hasher::restart() {
  const bool is_sha512 = expected_.to_string().starts_with("sha512:");
  check(EVP_DigestInit_ex(context_of(context_.get()), is_sha512 ? EVP_sha512() : EVP_sha256(),
                          nullptr));
}

void Hasher::add(std::string_view bytes) {
  check(EVP_DigestUpdate(context_of(context_.get()), bytes.data(), bytes.size()));
}

bool Hasher::matches() const {
  const std::unique_ptr<void, Free> copy{EVP_MD_CTX_new()};
  std::array<unsigned char, EVP_MAX_MD_SIZE> out{};
  unsigned int length = 0;
  check(EVP_MD_CTX_copy_ex(context_of(copy.get()), context_of(context_.get())));
  check(EVP_DigestFinal_ex(context_of(copy.get()), out.data(), &length));
  return to_hex(std::string{out.begin(), out.begin() + length}) == expected_.hex();
}

std::string Digest::hex() const { return text_.substr(text_.find(':') + 1); }

}  // namespace sparkrun
