// SPDX-License-Identifier: MIT
#pragma once

#include <compare>
#include <memory>
#include <string>
#include <string_view>

namespace sparkrun {

// An algorithm and the hash of some bytes: `sha256:` + 64 or `sha512:` + 128 lower-case hex digits
// (OCI image-spec, descriptor.md, "Digests"). Cannot exist in an invalid state.
class Digest {
 public:
  // Throws `digest.malformed`.
  static Digest parse(std::string_view text);
  static bool is_valid(std::string_view text);
  static Digest sha256_of(std::string_view bytes);

  // Whether `bytes` hash to this digest, by this digest's algorithm.
  [[nodiscard]] bool matches(std::string_view bytes) const;
  [[nodiscard]] const std::string& to_string() const { return text_; }
  [[nodiscard]] std::string hex() const;

  auto operator<=>(const Digest&) const = default;

 private:
  explicit Digest(std::string text) : text_(std::move(text)) {}
  std::string text_;
};

// Hashes bytes piece by piece, by the algorithm of the digest that they should have.
class Hasher {
 public:
  explicit Hasher(Digest expected);
  void add(std::string_view bytes);
  void restart();
  // Whether all that was added hashes to the expected digest.
  [[nodiscard]] bool matches() const;

 private:
  struct Free {
    void operator()(void* context) const;
  };
  Digest expected_;
  std::unique_ptr<void, Free> context_;  // OpenSSL's EVP_MD_CTX
};

// Raw bytes, not hex.
std::string sha256(std::string_view bytes);
std::string sha512(std::string_view bytes);
std::string sha256_hex(std::string_view bytes);

}  // namespace sparkrun
