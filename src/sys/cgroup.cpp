// SPDX-License-Identifier: MIT
#include "sys/cgroup.hpp"

#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sparkrun::sys {
namespace {

// One line of /proc/PID/cgroup: `0::/PATH` (version 2), `9:memory:/PATH` (cgroups(7)).
struct Group {
  fs::path folder;
  std::string_view usage, inactive;
};

std::optional<Group> group_of(std::string_view line, const fs::path& root) {
  const auto [id, rest] = split_once(line, ':');
  const auto [controllers, path] = split_once(rest, ':');
  if (!path.starts_with('/') || path.find("..") != std::string_view::npos) return std::nullopt;
  const std::string_view below = path.substr(1);
  if (id == "0" && controllers.empty())
    return Group{root / "sys/fs/cgroup" / below, "memory.current", "inactive_file"};
  if (controllers == "memory") {
    return Group{root / "sys/fs/cgroup/memory" / below, "memory.usage_in_bytes",
                 "total_inactive_file"};
  }
  return std::nullopt;
}

long long inactive_bytes(const Group& group) {
  const std::string statistics = read_fact(group.folder / "memory.stat");
  for (const std::string_view line : split(statistics, '\n')) {
    const auto [name, value] = split_once(line, ' ');
    if (name == group.inactive) return parse_number(trim(value)).value_or(0);
  }
  return 0;
}

}  // namespace

std::optional<long long> group_memory(pid_t pid, const fs::path& root) {
  if (pid <= 0) return std::nullopt;
  const std::string groups = read_fact(root / "proc" / std::to_string(pid) / "cgroup");
  for (const std::string_view line : split(groups, '\n')) {
    const auto group = group_of(line, root);
    if (!group) continue;
    const auto usage = parse_number(trim(read_fact(group->folder / group->usage)));
    if (usage) return std::max(0LL, *usage - inactive_bytes(*group));
  }
  return std::nullopt;
}

}  // namespace sparkrun::sys
