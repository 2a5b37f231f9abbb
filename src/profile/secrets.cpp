// SPDX-License-Identifier: MIT
#include "profile/secrets.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace sparkrun::profile {
namespace {

constexpr std::string_view letters_and_digits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
constexpr std::string_view with_dashes =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
constexpr std::string_view upper_and_digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

// How an issuer's tokens begin, what follows, and at least how much of it: enough that
// `hf_transfer` and `sk-learn` are none.
struct TokenShape {
  std::string_view prefix;
  std::string_view alphabet;
  size_t tail_min;
};
constexpr std::array shapes = std::to_array<TokenShape>({
    {"hf_", letters_and_digits, 20},   // Hugging Face
    {"ghp_", letters_and_digits, 20},  // GitHub, classic
    {"gho_", letters_and_digits, 20},  // GitHub, OAuth
    {"ghs_", letters_and_digits, 20},  // GitHub, app
    {"github_pat_", with_dashes, 20},  // GitHub, fine-grained
    {"nvapi-", with_dashes, 20},       // NVIDIA NGC
    {"sk-", with_dashes, 20},          // OpenAI, Anthropic
    {"glpat-", with_dashes, 16},       // GitLab
    {"xoxb-", with_dashes, 16},        // Slack
    {"AKIA", upper_and_digits, 16},    // AWS
});

constexpr size_t secret_length_min = 12;

bool has_digit(std::string_view text) {
  return text.find_first_of("0123456789") != std::string_view::npos;
}

bool starts_token(std::string_view text, const TokenShape& shape) {
  if (!text.starts_with(shape.prefix)) return false;
  text.remove_prefix(shape.prefix.size());
  const std::string_view tail = text.substr(0, text.find_first_not_of(shape.alphabet));
  return tail.size() >= shape.tail_min && has_digit(tail);
}

bool is_placeholder(std::string_view value) {
  constexpr std::array hints =
      std::to_array<std::string_view>({"your", "xxx", "changeme", "change-me", "example", "dummy",
                                       "placeholder", "none", "empty", "..."});
  const std::string lower = to_lower(value);
  // `<HF_TOKEN>`, `$TOKEN`, a sentence, a path to a key file.
  return value.find_first_of("< ") != std::string_view::npos || value.starts_with('$') ||
         value.starts_with('/') || std::ranges::any_of(hints, [&](std::string_view hint) {
           return lower.find(hint) != std::string::npos;
         });
}

}  // namespace

bool is_secret_name(std::string_view name) {
  constexpr std::array endings = std::to_array<std::string_view>(
      {"TOKEN", "KEY", "SECRET", "PASSWORD", "PASSWD", "CREDENTIALS"});
  const std::string upper = to_upper(name);
  return std::ranges::any_of(endings, [&](std::string_view end) { return upper.ends_with(end); });
}

bool contains_token(std::string_view text) {
  for (const TokenShape& shape : shapes) {
    for (size_t at = text.find(shape.prefix); at != std::string_view::npos;
         at = text.find(shape.prefix, at + 1)) {
      const bool is_word_start =
          at == 0 || letters_and_digits.find(text[at - 1]) == std::string_view::npos;
      if (is_word_start && starts_token(text.substr(at), shape)) return true;
    }
  }
  return false;
}

bool is_secret(std::string_view name, std::string_view value) {
  if (contains_token(value)) return true;
  return is_secret_name(name) && value.size() >= secret_length_min && !is_placeholder(value);
}

}  // namespace sparkrun::profile
