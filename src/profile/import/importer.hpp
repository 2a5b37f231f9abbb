// SPDX-License-Identifier: MIT
#pragma once

#include "profile/import/facts.hpp"
#include "profile/profile.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sparkrun::profile {

struct Imported {
  Profile profile;  // what `toml` says
  std::string toml;
  std::vector<ImportNote> notes;
};

// A profile that means what `docker run ...` (or `podman run ...`, also behind `sudo`) means on
// this host. No value of a secret gets into it, its notes or an error. Throws
// `import.inexpressible` with the word that has no place in a profile.
Imported import_words(std::span<const std::string> words, const ImportFacts& facts);

// The same for shell text that holds one such line (read_shell_text).
Imported import_text(std::string_view text, const ImportFacts& facts);

}  // namespace sparkrun::profile
