// SPDX-License-Identifier: MIT
#include "archive/store.hpp"

#include "archive/layout.hpp"
#include "base/error.hpp"
#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sparkrun::archive {
namespace {

constexpr mode_t folder_mode = 0755;

std::string algorithm_of(const Digest& digest) {
  return std::string{split_once(digest.to_string(), ':').first};
}

// `HEX.XXXXXX` and the like, under which sys::PendingFile may write.
bool is_leftover(std::string_view name) {
  const auto [hex, suffix] = split_once(name, '.');
  return !suffix.empty() && (is_lower_hex(hex, 64) || is_lower_hex(hex, 128));
}

}  // namespace

sys::FileDescriptor Store::open_to_write() const {
  sys::make_directories(folder_, folder_mode);
  sys::FileDescriptor lock = sys::lock_folder(folder_);
  if (const auto marker = read_top(marker_name)) {
    check_marker(*marker);
  } else if (!sys::list_files(folder_).empty() || !sys::list_folders(folder_).empty()) {
    throw Error{"archive.invalid", fmt::format("{} is neither empty nor an archive: it has no `{}`",
                                               folder_.string(), marker_name)};
  } else {
    write_top(marker_name, marker_text());
  }
  sys::make_directories(folder_ / "blobs" / "sha256", folder_mode);
  remove_leftovers();
  return lock;
}

void Store::remove_leftovers() const {
  for (const char* const algorithm : {"sha256", "sha512"}) {
    const fs::path folder = folder_ / "blobs" / algorithm;
    for (const std::string& name : sys::list_files(folder)) {
      if (is_leftover(name)) sys::remove_file(folder / name);
    }
  }
}

fs::path Store::path_of(const Digest& digest) const {
  return folder_ / "blobs" / algorithm_of(digest) / digest.hex();
}

std::optional<std::string> Store::read_top(std::string_view name) const {
  return sys::read_file(folder_ / name, document_bytes_max);
}

void Store::write_top(std::string_view name, std::string_view text) const {
  sys::write_file_atomically(folder_ / name, text);
}

std::optional<std::string> Store::fault_of(const oci::Descriptor& blob,
                                           const OnBytes& on_bytes) const {
  const fs::path path = path_of(blob.digest);
  const auto size = sys::regular_file_size(path);
  if (!size) return "is missing";
  if (*size != blob.size) return fmt::format("has {} bytes, not {}", *size, blob.size);
  Hasher hasher{blob.digest};
  sys::read_in_pieces(path, [&](std::string_view piece) {
    hasher.add(piece);
    if (on_bytes) on_bytes(static_cast<long long>(piece.size()));
  });
  if (!hasher.matches()) return "does not hash to its name";
  return std::nullopt;
}

std::optional<std::string> Store::read_document(const Digest& digest) const {
  const fs::path path = path_of(digest);
  const auto size = sys::regular_file_size(path);
  if (!size || *size > static_cast<long long>(document_bytes_max)) return std::nullopt;
  auto body = sys::read_file(path, document_bytes_max);
  return body && digest.matches(*body) ? body : std::nullopt;
}

void Store::write_document(const Digest& digest, std::string_view body) const {
  const fs::path path = path_of(digest);
  sys::make_directories(path.parent_path(), folder_mode);
  sys::write_file_atomically(path, body);
}

}  // namespace sparkrun::archive
