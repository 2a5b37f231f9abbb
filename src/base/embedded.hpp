// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace sparkrun {

// A file that was compiled in; `path` is relative to the source folder (`profiles/pytorch.toml`).
struct EmbeddedFile {
  std::string_view path;
  std::string_view content;
};
std::span<const EmbeddedFile> embedded_files();

inline std::optional<std::string_view> embedded_file(std::string_view path) {
  for (const EmbeddedFile& file : embedded_files()) {
    if (file.path == path) return file.content;
  }
  return std::nullopt;
}

}  // namespace sparkrun
