// SPDX-License-Identifier: MIT
#pragma once

#include "profile/import/facts.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sparkrun::profile {

constexpr size_t shell_text_bytes_max = size_t{1} << 20;

// The one command of a text that runs a container.
struct ShellRun {
  std::vector<std::string> words;  // from `sudo` or `docker` on; see expansion.hpp
  // What the text exports before it, or sets for it alone: docker sees these.
  std::map<std::string, std::string> exported;
  fs::path directory;  // where a `cd` before it went
  std::string
      cut_by_comment;  // the comment that ended it, with the lines that were meant to follow
  // Values of the text's own variables whose names say that they are secrets.
  std::vector<std::string> secrets;
  std::vector<ImportNote> notes;
};

// Reads shell text as a shell does (POSIX, Shell Command Language 2.2 to 2.6, and what bash adds to
// quoting): quotes, continuations, comments, variables that the text sets itself. Other plain
// commands are left out with a note. Throws `import.inexpressible` for what only a shell can know
// or do, where it concerns the container's command, and for a text without or with several of
// those.
ShellRun read_shell_text(std::string_view text, const ImportFacts& facts);

}  // namespace sparkrun::profile
