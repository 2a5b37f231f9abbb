// SPDX-License-Identifier: MIT
#include "plan/paths.hpp"

#include "base/secret.hpp"

#include <fmt/format.h>

namespace sparkrun::plan {
namespace {

// Replaces `${NAME}`; an empty value is refused as well, since `${SCRATCH}/data` would become
// `/data`.
ExpandedPath expand_variables(std::string_view text, const PlanFacts& facts) {
  ExpandedPath expanded;
  while (true) {
    const size_t open = text.find("${");
    expanded.path += text.substr(0, open);
    if (open == std::string_view::npos) return expanded;
    const size_t close = text.find('}', open);
    if (close == std::string_view::npos) return {.problem = "`${` without its `}`"};
    const std::string_view name = text.substr(open + 2, close - open - 2);
    if (is_secret_name(name)) {
      return {.problem = fmt::format("`{}` is the name of a secret, and a path is no place for one",
                                     name)};
    }
    const auto found = facts.variables.find(name);
    if (found == facts.variables.end() && facts.keeps_unset_variables) {
      expanded.path += text.substr(open, close + 1 - open);
      text.remove_prefix(close + 1);
      continue;
    }
    if (found == facts.variables.end() || found->second.empty()) {
      return {.problem = fmt::format("the variable `{}` is {}", name,
                                     found == facts.variables.end() ? "not set" : "empty")};
    }
    expanded.path += found->second;
    text.remove_prefix(close + 1);
  }
}

}  // namespace

ExpandedPath expand_path(std::string_view written, const fs::path& base, const PlanFacts& facts) {
  ExpandedPath expanded = expand_variables(written, facts);
  if (!expanded.problem.empty()) return expanded;
  fs::path path = expanded.path;
  if (expanded.path == "~")
    path = facts.home;
  else if (expanded.path.starts_with("~/"))
    path = facts.home / expanded.path.substr(2);
  else if (path.is_relative() && !expanded.path.starts_with("${"))
    path = base / path;
  expanded.path = path.lexically_normal().string();
  // `a/.` and `a/` are `a`; docker would print them as they are.
  if (expanded.path.size() > 1 && expanded.path.ends_with('/')) expanded.path.pop_back();
  return expanded;
}

}  // namespace sparkrun::plan
