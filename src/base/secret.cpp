// SPDX-License-Identifier: MIT
#include "base/secret.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <functional>

namespace sparkrun {
namespace {

struct TokenShape {
  std::string_view prefix;
  size_t length_min;            // of what follows the prefix
  std::string_view marks = "";  // what may stand there beside letters and digits
  bool needs_digit = false;     // the prefix could start an ordinary word
};

constexpr std::array token_shapes = std::to_array<TokenShape>({
    {"hf_", 20},
    {"ghp_", 20},
    {"gho_", 20},
    {"ghs_", 20},
    {"ghu_", 20},
    {"github_pat_", 20, "_"},
    {"nvapi-", 20, "-_"},
    {"glpat-", 16, "-_"},
    {"sk-", 20, "-_", true},
    {"xoxb-", 16, "-", true},
    {"xoxp-", 16, "-", true},
    {"AKIA", 16, "", true},
    {"eyJ", 30, "-_.", true},
});

constexpr std::array secret_words =
    std::to_array<std::string_view>({"TOKEN", "PASSWORD", "PASSWD", "PASSPHRASE", "SECRET",
                                     "CREDENTIAL", "CREDENTIALS", "APIKEY", "AUTHORIZATION"});
// A name that ends so says where a secret is, or which, and is none itself.
constexpr std::array harmless_ends =
    std::to_array<std::string_view>({"FILE", "PATH", "DIR", "ID", "NAME"});

bool is_alphanumeric(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_name_character(char c) { return is_alphanumeric(c) || c == '_' || c == '-'; }
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n'; }

template <typename Predicate>
size_t run_length(std::string_view text, Predicate predicate) {
  return static_cast<size_t>(std::ranges::find_if_not(text, predicate) - text.begin());
}

// The length of a token at the start of the text, or 0.
size_t token_length(std::string_view text) {
  for (const TokenShape& shape : token_shapes) {
    if (!text.starts_with(shape.prefix)) continue;
    // No token is longer, and a text of nothing but prefixes must not be read again for each.
    constexpr size_t length_max = 512;
    const std::string_view rest = text.substr(shape.prefix.size(), length_max);
    const std::string_view body =
        rest.substr(0, run_length(rest, [&](char c) {
                      return is_alphanumeric(c) || shape.marks.find(c) != std::string_view::npos;
                    }));
    const bool has_digit = body.find_first_of("0123456789") != std::string_view::npos;
    if (body.size() >= shape.length_min && (has_digit || !shape.needs_digit)) {
      return shape.prefix.size() + body.size();
    }
  }
  return 0;
}

// The length of the value at the start of the text: to the closing quote, or to what ends a shell
// word.
size_t value_length(std::string_view text) {
  if (!text.empty() && (text.front() == '"' || text.front() == '\'')) {
    const size_t close = text.find(text.front(), 1);
    return close == std::string_view::npos ? text.size() : close + 1;
  }
  return std::min(text.find_first_of(" \t\n;&|\"'"), text.size());
}

// What stands between a name and its value (`=`, `: `, `": `, or the blank after an option), or 0.
size_t separator_length(std::string_view name, std::string_view rest) {
  if (rest.starts_with('=')) return 1;
  const size_t quote = rest.starts_with('"') || rest.starts_with('\'') ? 1 : 0;
  if (rest.substr(quote).starts_with(':')) {
    const size_t blanks = run_length(rest.substr(quote + 1), is_blank);
    // `/data/token:/workspace` is a mount.
    return quote == 1 || blanks > 0 ? quote + 1 + blanks : 0;
  }
  return name.starts_with("--") && rest.starts_with(' ') ? 1 : 0;
}

// `Bearer x`: the scheme is no secret, and the credentials are a word of their own.
size_t credentials_length(std::string_view text) {
  const size_t scheme = run_length(text, is_alphanumeric);
  const bool has_scheme = equal_ignoring_case(text.substr(0, scheme), "bearer") ||
                          equal_ignoring_case(text.substr(0, scheme), "basic");
  if (!has_scheme || scheme == text.size() || text[scheme] != ' ') return value_length(text);
  return scheme + 1 + value_length(text.substr(scheme + 1));
}

// `https://user:password@host` -> the length of `user:password`, from behind `://`; 0 when there is
// none.
size_t userinfo_length(std::string_view text) {
  const std::string_view authority = text.substr(0, text.find_first_of("/?# \t\n\"'"));
  const size_t at = authority.rfind('@');
  return at == std::string_view::npos ? 0 : at;
}

// One assignment to a secret name at the start of the text: {length to keep, length to replace}.
std::pair<size_t, size_t> secret_assignment(std::string_view text) {
  const std::string_view name = text.substr(0, run_length(text, is_name_character));
  if (name.empty() || !is_secret_name(name)) return {0, 0};
  const std::string_view rest = text.substr(name.size());
  const size_t separator = separator_length(name, rest);
  if (separator == 0 || separator == rest.size()) return {0, 0};
  return {name.size() + separator, credentials_length(rest.substr(separator))};
}

// Where the value starts in a word that assigns to a secret name: `NAME=`, `--name=`, `-eNAME=`,
// `--env=NAME=`.
size_t find_assigned_value(std::string_view word) {
  size_t name_at = word.starts_with("-e") && !word.starts_with("-e=") ? 2 : 0;
  for (size_t equals = word.find('='); equals != std::string_view::npos;
       equals = word.find('=', equals + 1)) {
    const std::string_view name = word.substr(name_at, equals - name_at);
    if (!std::ranges::all_of(name, is_name_character)) return std::string_view::npos;
    if (is_secret_name(name)) return equals + 1;
    name_at = equals + 1;
  }
  return std::string_view::npos;
}

constexpr size_t secret_length_min = 12;

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
  std::string upper = to_upper(name);
  std::ranges::replace(upper, '-', '_');
  std::vector<std::string_view> words = split(upper, '_');
  std::erase_if(words, [](std::string_view word) { return word.empty(); });
  if (words.empty() || std::ranges::find(harmless_ends, words.back()) != harmless_ends.end()) {
    return false;
  }
  const bool is_key = words.size() > 1 && (words.back() == "KEY" || words.back() == "PASS");
  return is_key || std::ranges::any_of(words, [](std::string_view word) {
           return std::ranges::find(secret_words, word) != secret_words.end();
         });
}

bool contains_token(std::string_view text) {
  for (size_t at = 0; at < text.size(); ++at) {
    const bool starts_word = at == 0 || !is_alphanumeric(text[at - 1]);
    if (starts_word && token_length(text.substr(at)) > 0) return true;
  }
  return false;
}

bool is_secret(std::string_view name, std::string_view value) {
  if (contains_token(value)) return true;
  return is_secret_name(name) && value.size() >= secret_length_min && !is_placeholder(value);
}

std::string redact(std::string_view text) {
  std::string clean;
  size_t at = 0;
  const auto replace = [&](size_t keep, size_t secret) {
    clean.append(text.substr(at, keep)).append(redacted);
    at += keep + secret;
  };
  while (at < text.size()) {
    const std::string_view rest = text.substr(at);
    if (rest.starts_with("://")) {
      const size_t user = userinfo_length(rest.substr(3));
      if (user > 0)
        replace(3, user);
      else
        clean.append(rest.substr(0, 3)), at += 3;
      continue;
    }
    const bool starts_name = at == 0 || !is_name_character(text[at - 1]);
    const bool starts_token = at == 0 || !is_alphanumeric(text[at - 1]);
    const auto [keep, secret] = starts_name ? secret_assignment(rest) : std::pair<size_t, size_t>{};
    if (secret > 0)
      replace(keep, secret);
    else if (const size_t token = starts_token ? token_length(rest) : 0; token > 0)
      replace(0, token);
    else
      clean += text[at++];
  }
  return clean;
}

std::vector<std::string> redact_words(const std::vector<std::string>& words) {
  std::vector<std::string> clean;
  bool is_value_of_secret = false;
  for (const std::string& word : words) {
    const bool is_option = word.starts_with('-');
    const size_t value = find_assigned_value(word);
    if (is_value_of_secret && !word.starts_with("--")) {
      clean.emplace_back(redacted);
    } else if (value != std::string::npos && value < word.size()) {
      clean.push_back(word.substr(0, value).append(redacted));
    } else {
      clean.push_back(redact(word));
    }
    is_value_of_secret = is_option && word.find('=') == std::string::npos &&
                         std::ranges::all_of(word, is_name_character) && is_secret_name(word);
  }
  return clean;
}

std::string redact_values(std::string text, const std::vector<std::string>& values) {
  constexpr size_t length_min = 4;
  std::vector<std::string_view> pieces;
  for (const std::string& value : values) {
    for (const std::string_view line : split(value, '\n')) pieces.push_back(trim(line));
  }
  std::erase_if(pieces, [](std::string_view piece) { return piece.size() < length_min; });
  // One value may be a part of another.
  std::ranges::sort(pieces, std::ranges::greater{}, &std::string_view::size);
  for (const std::string_view piece : pieces) {
    for (size_t at = text.find(piece); at != std::string::npos;
         at = text.find(piece, at + redacted.size())) {
      text.replace(at, piece.size(), redacted);
    }
  }
  return text;
}

}  // namespace sparkrun
