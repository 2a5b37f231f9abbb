// SPDX-License-Identifier: MIT
#pragma once

#include "sys/process.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace sparkrun::archive {

// GNU tar packs and unpacks. Everything throws `archive.tar_failed`.

// The command that writes a folder's contents to its stdout; links are followed. The same contents
// give the same bytes.
std::vector<std::string> pack_command(const std::filesystem::path& folder);

// Our stdout becomes a tar of the folder's contents.
void pack_to_stdout(const std::filesystem::path& folder, sys::Processes& processes);

// Our stdin, a tar, is unpacked into the folder; one that is none is `archive.invalid`.
void unpack_stdin(const std::filesystem::path& folder, sys::Processes& processes);

}  // namespace sparkrun::archive
