// SPDX-License-Identifier: MIT
#include "run/shown_lints.hpp"

#include "base/digest.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "sys/files.hpp"

#include <algorithm>

namespace sparkrun::run {
namespace {

constexpr size_t shown_bytes_max = 64 << 10;

fs::path place(const Prepared& prepared, const sys::Environment& environment) {
  const profile::Profile& profile = prepared.plan.profile;
  // Two images may have one name: nvcr.io/nvidia/pytorch and the profile pytorch.
  const std::string image = profile.origin == profile::Origin::image ? profile.image : "";
  const std::string key = prepared.project.root.string() + '\n' + profile.name + '\n' + image;
  return environment.state_directory() / "lints" / sha256_hex(key).substr(0, 32);
}

std::string read_shown(const fs::path& file) {
  try {
    return sys::read_file(file).value_or("");
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

std::vector<std::string> take_new_lints(const Prepared& prepared,
                                        const sys::Environment& environment) {
  const fs::path file = place(prepared, environment);
  const std::string shown = read_shown(file);
  const std::vector<std::string_view> known = split(shown, '\n');
  std::vector<std::string> fresh;
  std::string now = shown;
  for (const std::string& lint : prepared.plan.lints) {
    const std::string line = one_line(lint);
    if (std::ranges::find(known, line) != known.end()) continue;
    fresh.push_back(lint);
    now += line + "\n";
  }
  if (fresh.empty()) return fresh;
  if (now.size() > shown_bytes_max) now.clear();  // said again some day
  try {
    sys::make_directories(file.parent_path(), 0700);
    sys::write_file_atomically(file, now, 0600);
  } catch (const Error&) {
    return fresh;  // no reason to stop a run
  }
  return fresh;
}

}  // namespace sparkrun::run
