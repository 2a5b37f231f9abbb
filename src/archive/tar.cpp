// SPDX-License-Identifier: MIT
#include "archive/tar.hpp"

#include "base/error.hpp"
#include "base/text.hpp"

#include <fmt/format.h>

#include <chrono>
#include <csignal>

namespace sparkrun::archive {
namespace {

// 10 GB over whatever pipe there is; Ctrl-C is the limit that people have.
constexpr std::chrono::hours patience{24};
constexpr size_t shown_length_max = 1000;

sys::ProcessResult run_tar(sys::PipelineSpec spec, sys::Processes& processes) {
  spec.timeout = patience;
  sys::ProcessResult result = processes.run_pipeline(spec).front();
  if (result.spawn_errno != 0) throw Error{"archive.tar_failed", "`tar` is not on PATH"};
  return result;
}

std::string words_of(const sys::ProcessResult& result) {
  return printable(trim(result.err).substr(0, shown_length_max));
}

}  // namespace

// In the format `gnu`, since the older one ends at files of 8 GiB.
std::vector<std::string> pack_command(const std::filesystem::path& folder) {
  return {"tar",
          "--create",
          "--file=-",
          "--format=gnu",
          "--dereference",
          "--sort=name",
          "--owner=0",
          "--group=0",
          "--numeric-owner",
          "--mode=u=rwX,go=rX",
          "--mtime=@0",
          "--directory=" + folder.string(),
          "."};
}

void pack_to_stdout(const std::filesystem::path& folder, sys::Processes& processes) {
  const sys::ProcessResult result =
      run_tar({.commands = {pack_command(folder)}, .gives_our_output = true}, processes);
  if (result.is_success()) return;
  if (result.signal == SIGPIPE) {
    throw Error{"archive.tar_failed", "whoever read the archive has gone before its end"};
  }
  throw Error{"archive.tar_failed", "tar could not write the archive: " + words_of(result)};
}

// Without the owners, modes and times of the tar; tar itself keeps to the folder.
void unpack_stdin(const std::filesystem::path& folder, sys::Processes& processes) {
  const sys::ProcessResult result =
      run_tar({.commands = {{"tar", "--extract", "--file=-", "--no-same-owner",
                             "--no-same-permissions", "--touch", "--directory=" + folder.string()}},
               .takes_our_input = true},
              processes);
  if (result.is_success()) return;
  throw Error{"archive.invalid",
              "tar cannot unpack what comes on standard input: " + words_of(result)};
}

}  // namespace sparkrun::archive
