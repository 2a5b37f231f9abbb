// SPDX-License-Identifier: MIT
#include "preflight/facts.hpp"

#include "base/secret.hpp"
#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sparkrun::preflight {
namespace {

bool is_fact_key(std::string_view key) {
  constexpr size_t key_bytes_max = 128;
  return !key.empty() && key.size() <= key_bytes_max && std::ranges::all_of(key, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view{"._-+"}.find(c) != std::string_view::npos;
  });
}

void take_fact(std::string_view line, ProbeFacts& facts) {
  const auto [key, value] = split_once(line, '=');
  if (key.size() == line.size() || !is_fact_key(key) || facts.values.size() >= probe_facts_max)
    return;
  facts.values.emplace(key, redact(printable(value.substr(0, probe_value_bytes_max))));
}

}  // namespace

std::optional<ProbeFacts> parse_probe_output(std::string_view text, std::string_view nonce) {
  text = text.substr(0, probe_output_bytes_max);
  const std::string begin = fmt::format("-----BEGIN SPARKRUN PROBE {}-----", nonce);
  const std::string end = fmt::format("-----END SPARKRUN PROBE {}-----", nonce);
  const size_t start = text.find(begin);
  if (start == std::string_view::npos) return std::nullopt;
  text.remove_prefix(start + begin.size());

  ProbeFacts facts;
  const size_t stop = text.find(end);
  const bool is_complete = stop != std::string_view::npos;
  // Of output that was cut, the last line may be half a fact.
  text = text.substr(0, is_complete ? stop : text.rfind('\n'));
  for (std::string_view line : split(text, '\n')) {
    if (line.ends_with('\r')) line.remove_suffix(1);  // a terminal was in between
    take_fact(line, facts);
  }
  facts.values.insert_or_assign("probe", is_complete ? "complete" : "cut");
  return facts;
}

std::string normalized_package_name(std::string_view name) {
  std::string normal;
  for (const char c : to_lower(name)) {
    const bool is_separator = c == '-' || c == '_' || c == '.';
    if (!is_separator)
      normal += c;
    else if (!normal.ends_with('-'))
      normal += '-';
  }
  return normal;
}

}  // namespace sparkrun::preflight
