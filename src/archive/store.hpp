// SPDX-License-Identifier: MIT
#pragma once

#include "oci/manifest.hpp"
#include "sys/files.hpp"

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace sparkrun::archive {

namespace fs = std::filesystem;

constexpr size_t document_bytes_max = size_t{4} << 20;  // of an index or a manifest

// Told how many bytes have been looked at; may throw `interrupted`.
using OnBytes = std::function<void(long long)>;

// The folder of an image layout. Its blobs appear whole under their digests, or not at all; what is
// there already is believed only after it was hashed.
class Store {
 public:
  explicit Store(fs::path folder) : folder_(std::move(folder)) {}

  // Makes an empty layout where there is none, and takes away what a killed process left. The
  // layout is this process's until the descriptor is closed. Throws `archive.invalid` for a folder
  // with other things in it, `file.unwritable`.
  [[nodiscard]] sys::FileDescriptor open_to_write() const;

  [[nodiscard]] const fs::path& folder() const { return folder_; }
  [[nodiscard]] fs::path path_of(const Digest& digest) const;
  // The text of one of the two files at the top; nothing: it is not there.
  [[nodiscard]] std::optional<std::string> read_top(std::string_view name) const;
  void write_top(std::string_view name, std::string_view text) const;

  // What is wrong with a blob ("is missing", "does not hash to its name"); nothing: it is whole.
  [[nodiscard]] std::optional<std::string> fault_of(const oci::Descriptor& blob,
                                                    const OnBytes& on_bytes) const;
  // An index or manifest; nothing when it is not there or not whole.
  [[nodiscard]] std::optional<std::string> read_document(const Digest& digest) const;
  void write_document(const Digest& digest, std::string_view body) const;

 private:
  void remove_leftovers() const;

  fs::path folder_;
};

}  // namespace sparkrun::archive
