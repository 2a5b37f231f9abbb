// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <sys/types.h>

namespace sparkrun::profile {

namespace fs = std::filesystem;

// What an import needs to know of where it happens.
struct ImportFacts {
  fs::path home;
  fs::path working_directory;  // what the line's relative paths and `$(pwd)` mean
  fs::path project_root;       // what a profile's relative paths start from
  uid_t uid = 0;
  gid_t gid = 0;
};

// What a user should know of an import.
struct ImportNote {
  bool is_warning = false;
  std::string text;
};

// Throws `import.inexpressible`. `word` is shown without secrets and with its expansions as they
// were written; `advice` says what to do.
[[noreturn]] void refuse_word(std::string_view word, std::string_view why, std::string_view advice);

// A word or a line for a message: on one line, without secrets, not endless.
std::string shown(std::string_view word);

}  // namespace sparkrun::profile
