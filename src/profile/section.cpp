// SPDX-License-Identifier: MIT
#include "profile/section.hpp"

#include "base/error.hpp"
#include "base/secret.hpp"
#include "base/suggest.hpp"
#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sparkrun::profile {
namespace {

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

}  // namespace

void Faults::add(const TomlNode& where, const std::string& what) {
  add(where.line, where.column, what);
}

void Faults::add(int line, int column, const std::string& what) {
  faults_.emplace_back(line, column, what);
}

void Faults::throw_if_any() const {
  if (faults_.empty()) return;
  auto sorted = faults_;
  std::ranges::stable_sort(sorted, {}, [](const auto& fault) {
    return std::pair{std::get<0>(fault), std::get<1>(fault)};
  });
  std::vector<std::string> problems;
  for (const auto& [line, column, what] : sorted) {
    problems.push_back(fmt::format("{}:{}:{}: {}", source_name_, line, column, printable(what)));
  }
  throw Error{"profile.invalid",
              fmt::format("{} is not a valid profile", source_name_),
              {{"path", source_name_}},
              problems};
}

const TomlNode* Section::take(std::string_view key) {
  known_.emplace_back(key);
  return table_.find(key);
}

const TomlNode* Section::take(std::string_view key, TomlNode::Kind kind) {
  const TomlNode* const node = take(key);
  if (node == nullptr || node->kind == kind) return node;
  must_be(*node, label(key), describe(kind));
  return nullptr;
}

std::optional<std::string> Section::text(std::string_view key, Controls controls) {
  const TomlNode* const node = take(key);
  return node ? checked_text(*node, label(key), controls) : std::nullopt;
}

std::optional<bool> Section::boolean(std::string_view key) {
  const TomlNode* const node = take(key, TomlNode::Kind::boolean);
  return node ? std::optional{node->boolean} : std::nullopt;
}

std::optional<long long> Section::integer(std::string_view key) {
  const TomlNode* const node = take(key, TomlNode::Kind::integer);
  return node ? std::optional{node->integer} : std::nullopt;
}

std::optional<std::vector<std::string>> Section::texts(std::string_view key, Controls controls) {
  const TomlNode* const node = take(key, TomlNode::Kind::array);
  if (node == nullptr) return std::nullopt;
  std::vector<std::string> result;
  for (const TomlNode& item : node->items) {
    const auto text = checked_text(item, fmt::format("each of `{}`", label(key)), controls);
    if (text) result.push_back(*text);
  }
  if (result.size() < node->items.size()) return std::nullopt;
  return result;
}

void Section::refuse_unknown(const std::function<std::string(std::string_view)>& advice) {
  for (const auto& [key, node] : table_.entries) {
    if (std::ranges::find(known_, key) != known_.end()) continue;
    std::string more = advice ? advice(key) : "";
    if (more.empty()) more = did_you_mean(key, known_);
    faults_.add(node, fmt::format("unknown key `{}`{}", label(key), more));
  }
}

std::string Section::label(std::string_view key) const {
  return name_.empty() ? std::string{key} : fmt::format("{}.{}", name_, key);
}

std::optional<std::string> Section::checked_text(const TomlNode& node, const std::string& label,
                                                 Controls controls) {
  if (node.kind != TomlNode::Kind::string) {
    must_be(node, label, describe(TomlNode::Kind::string));
    return std::nullopt;
  }
  const std::string quoted = label.find('`') == std::string::npos ? "`" + label + "`" : label;
  if (node.string.find('\0') != std::string::npos) {
    faults_.add(node, fmt::format("{} contains a NUL, which no command line can carry", quoted));
    return std::nullopt;
  }
  if (controls == Controls::refuse && std::ranges::any_of(node.string, is_control)) {
    faults_.add(node, fmt::format("{} contains a control character", quoted));
    return std::nullopt;
  }
  if (contains_token(node.string)) {
    faults_.add(node, fmt::format("{} contains a token; keep it in your environment and name its "
                                  "variable in `env_from_host`",
                                  quoted));
    return std::nullopt;
  }
  return node.string;
}

void Section::must_be(const TomlNode& node, const std::string& label, std::string_view wanted) {
  const std::string quoted = label.find('`') == std::string::npos ? "`" + label + "`" : label;
  faults_.add(node, fmt::format("{} must be {}, not {}", quoted, wanted, describe(node.kind)));
}

}  // namespace sparkrun::profile
