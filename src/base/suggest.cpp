// SPDX-License-Identifier: MIT
#include "base/suggest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace sparkrun {
namespace {

// Damerau-Levenshtein with adjacent transpositions ("optimal string alignment").
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
      }
    }
  }
  return d[a.size()][b.size()];
}

constexpr size_t typed_length_max = 64;  // what is longer was not a slip of the finger

}  // namespace

std::optional<std::string> nearest(std::string_view typed,
                                   const std::vector<std::string>& candidates) {
  if (typed.size() > typed_length_max) return std::nullopt;
  std::optional<std::string> best;
  size_t best_distance = std::max<size_t>(typed.size() / 3, 1) + 1;
  for (const std::string& candidate : candidates) {
    const size_t distance = edit_distance(typed, candidate);
    if (distance >= best_distance) continue;
    best = candidate;
    best_distance = distance;
  }
  if (best || typed.size() < 3) return best;
  const auto longer = std::ranges::find_if(
      candidates, [&](const std::string& candidate) { return candidate.starts_with(typed); });
  return longer != candidates.end() ? std::optional{*longer} : std::nullopt;
}

std::string did_you_mean(std::string_view typed, const std::vector<std::string>& candidates) {
  const std::optional<std::string> guess = nearest(typed, candidates);
  return guess ? fmt::format(" (did you mean `{}`?)", *guess) : "";
}

}  // namespace sparkrun
