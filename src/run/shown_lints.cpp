// SPDX-License-Identifier: MIT
#include "run/shown_lints.hpp"

#include "base/digest.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "sys/files.hpp"

#include <algorithm>

namespace sparkrun::run {
namespace {

fs::path place(const Prepared& prepared, const sys::Environment& environment) {
  const std::string key = prepared.project.root.string() + '\n' + prepared.plan.profile.name;
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
  std::string now;  // what is not said any more is forgotten, so that it is said when it comes back
  for (const std::string& lint : prepared.plan.lints) {
    const std::string line = one_line(lint);
    if (std::ranges::find(known, line) == known.end()) fresh.push_back(lint);
    now += line + "\n";
  }
  if (now == shown) return fresh;
  try {
    sys::make_directories(file.parent_path(), 0700);
    sys::write_file_atomically(file, now, 0600);
  } catch (const Error&) {
    return fresh;  // no reason to stop a run
  }
  return fresh;
}

}  // namespace sparkrun::run
