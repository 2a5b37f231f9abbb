// SPDX-License-Identifier: MIT
#include "base/base64.hpp"

#include <openssl/evp.h>

namespace sparkrun {
namespace {

const unsigned char* as_bytes(const std::string& text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

}  // namespace

std::string to_base64(std::string_view bytes) {
  const std::string source{bytes};
  std::string text((source.size() + 2) / 3 * 4 + 1, '\0');  // OpenSSL writes a final NUL
  const int length = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                                     as_bytes(source), static_cast<int>(source.size()));
  text.resize(static_cast<size_t>(length));
  return text;
}

std::optional<std::string> from_base64(std::string_view text) {
  constexpr std::string_view alphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string padded{text.substr(0, text.find('='))};
  const size_t padding = (4 - padded.size() % 4) % 4, written = text.size() - padded.size();
  if (written != 0 && written != padding) return std::nullopt;
  if (padding == 3 || padded.find_first_not_of(alphabet) != std::string::npos) return std::nullopt;
  if (text.find_first_not_of('=', padded.size()) != std::string_view::npos) return std::nullopt;
  padded.append(padding, '=');
  std::string bytes(padded.size() / 4 * 3, '\0');
  const int length = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                                     as_bytes(padded), static_cast<int>(padded.size()));
  if (length < 0) return std::nullopt;
  bytes.resize(static_cast<size_t>(length) - padding);
  return bytes;
}

}  // namespace sparkrun
