// SPDX-License-Identifier: MIT
#include "oci/reference.hpp"

#include "base/error.hpp"
#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sparkrun::oci {
namespace {

constexpr std::string_view hub = "docker.io";
constexpr std::string_view hub_old_name = "index.docker.io";
constexpr std::string_view hub_official = "library/";
constexpr size_t repository_length_max = 255;  // RepositoryNameTotalLengthMax
constexpr size_t tag_length_max = 128;
constexpr size_t digest_hex_length_min = 32;  // below that it is not read as a digest at all
constexpr size_t id_length = 64;
constexpr size_t shown_length_max = 300;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_letter(char c) { return is_lower(c) || is_upper(c); }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

template <typename Predicate>
bool all_of(std::string_view text, Predicate predicate) {
  return std::ranges::all_of(text, predicate);
}

// [a-zA-Z0-9] with dashes inside.
bool is_host_label(std::string_view label) {
  return !label.empty() && label.front() != '-' && label.back() != '-' &&
         all_of(label, [](char c) { return is_letter(c) || is_digit(c) || c == '-'; });
}

bool is_host(std::string_view host) {
  if (host.starts_with('[')) {
    return host.size() > 2 && host.ends_with(']') &&
           all_of(host.substr(1, host.size() - 2), [](char c) { return is_hex(c) || c == ':'; });
  }
  return std::ranges::all_of(split(host, '.'), is_host_label);
}

bool is_registry(std::string_view text) {
  const size_t colon = text.find(':', text.starts_with('[') ? text.find(']') : 0);
  if (colon == std::string_view::npos) return is_host(text);
  const std::string_view port = text.substr(colon + 1);
  return is_host(text.substr(0, colon)) && !port.empty() && all_of(port, is_digit);
}

// What may stand between two runs of letters and digits: `.`, `_`, `__`, or dashes.
bool is_path_separator(std::string_view text) {
  return text == "." || text == "_" || text == "__" ||
         all_of(text, [](char c) { return c == '-'; });
}

bool is_path_component(std::string_view text) {
  const auto is_word = [](char c) { return is_lower(c) || is_digit(c); };
  if (text.empty() || !is_word(text.front()) || !is_word(text.back())) return false;
  for (auto at = text.begin(); at != text.end();) {
    const auto separator = std::find_if_not(at, text.end(), is_word);
    const auto word = std::find_if(separator, text.end(), is_word);
    if (separator != text.end() && !is_path_separator({separator, word})) return false;
    at = word;
  }
  return true;
}

[[noreturn]] void refuse(std::string_view typed, std::string_view cause, std::string_view why) {
  throw Error{"reference.malformed",
              fmt::format("`{}` is not an image reference: {}",
                          printable(typed.substr(0, shown_length_max)), why),
              {{"cause", std::string{cause}}}};
}

// The algorithm of a digest: words of letters and digits, each beginning with a letter, joined by
// one of `-_+.`.
bool is_digest_algorithm(std::string_view text) {
  bool at_word_start = true;
  for (const char c : text) {
    if (at_word_start ? !is_letter(c) : !is_letter(c) && !is_digit(c)) {
      if (at_word_start || std::string_view{"-_+."}.find(c) == std::string_view::npos) return false;
      at_word_start = true;
    } else {
      at_word_start = false;
    }
  }
  return !at_word_start;
}

Digest parse_digest(std::string_view text, std::string_view typed) {
  const auto [algorithm, hex] = split_once(text, ':');
  if (!is_digest_algorithm(algorithm) || hex.size() < digest_hex_length_min ||
      !all_of(hex, is_hex)) {
    refuse(typed, "invalid-format", "what follows `@` is not a digest");
  }
  const size_t wanted = algorithm == "sha256" ? 64 : algorithm == "sha512" ? 128 : 0;
  if (wanted == 0) {
    refuse(typed, "digest-unsupported", "the digest is neither sha256 nor sha512");
  }
  if (hex.size() != wanted) {
    refuse(typed, "digest-length",
           fmt::format("a {} digest has {} hex digits, this one has {}", algorithm, wanted,
                       hex.size()));
  }
  if (!is_lower_hex(hex, wanted)) {
    refuse(typed, "digest-format", "the hex digits of a digest are lower-case");
  }
  return Digest::parse(text);
}

struct Split {
  std::string registry;
  std::string rest;
};

// The first part is a host only if it looks like one; otherwise everything is a path on Docker Hub.
Split split_registry(std::string_view text) {
  const size_t slash = text.find('/');
  const std::string_view first = text.substr(0, slash);
  const bool has_host =
      slash != std::string_view::npos &&
      (first == "localhost" || first.find_first_of(".:") != std::string_view::npos ||
       std::ranges::any_of(first, is_upper));
  Split split{.registry = std::string{has_host ? first : hub},
              .rest = std::string{has_host ? text.substr(slash + 1) : text}};
  if (split.registry == hub_old_name) split.registry = hub;
  if (split.registry == hub && split.rest.find('/') == std::string::npos) {
    split.rest.insert(0, hub_official);
  }
  return split;
}

void check_repository(std::string_view repository, std::string_view typed) {
  if (!std::ranges::all_of(split(repository, '/'), is_path_component)) {
    refuse(typed, "invalid-format",
           fmt::format("`{}` is not a repository name",
                       printable(repository.substr(0, shown_length_max))));
  }
  if (repository.size() > repository_length_max) {
    refuse(typed, "name-too-long",
           fmt::format("the repository name has {} characters, {} are allowed", repository.size(),
                       repository_length_max));
  }
}

}  // namespace

bool Reference::is_valid_tag(std::string_view text) {
  const auto is_word = [](char c) { return is_letter(c) || is_digit(c) || c == '_'; };
  return !text.empty() && text.size() <= tag_length_max && is_word(text.front()) &&
         all_of(text, [&](char c) { return is_word(c) || c == '.' || c == '-'; });
}

Reference Reference::parse(std::string_view text) {
  if (text.empty()) refuse(text, "invalid-format", "it is empty");
  if (is_lower_hex(text, id_length)) {
    refuse(text, "ambiguous-64-hex-id", "64 hex digits alone are an image id");
  }
  if (const size_t scheme = text.find("://"); scheme != std::string_view::npos) {
    refuse(text, "invalid-format",
           fmt::format("leave out `{}`", printable(text.substr(0, scheme + 3))));
  }
  const auto [registry, rest] = split_registry(text);
  if (std::ranges::any_of(split_once(rest, ':').first, is_upper)) {
    refuse(text, "name-not-lowercase", "a repository name must be lower case");
  }
  if (!is_registry(registry)) {
    refuse(text, "invalid-format", fmt::format("`{}` is not a host name", printable(registry)));
  }

  Reference reference;
  reference.registry_ = registry;
  const size_t at = rest.find('@');
  const std::string_view named = std::string_view{rest}.substr(0, at);
  const size_t colon = named.find(':');
  reference.repository_ = named.substr(0, colon);
  check_repository(reference.repository_, text);
  if (colon != std::string_view::npos) {
    reference.tag_ = named.substr(colon + 1);
    if (!is_valid_tag(*reference.tag_)) {
      refuse(text, "invalid-format",
             "a tag is 1 to 128 letters, digits, `_`, `.` and `-`, not beginning with `.` or `-`");
    }
  }
  if (at != std::string::npos) {
    reference.digest_ = parse_digest(std::string_view{rest}.substr(at + 1), text);
  }
  return reference;
}

std::string Reference::familiar_name() const {
  if (registry_ != hub) return name();
  const bool is_official = repository_.starts_with(hub_official) &&
                           repository_.find('/', hub_official.size()) == std::string::npos;
  return is_official ? repository_.substr(hub_official.size()) : repository_;
}

std::string Reference::suffix() const {
  std::string text;
  if (tag_ || !digest_) text += ":" + tag_.value_or("latest");
  if (digest_) text += "@" + digest_->to_string();
  return text;
}

Reference Reference::with_digest(const Digest& digest) const {
  Reference changed = *this;
  changed.tag_.reset();
  changed.digest_ = digest;
  return changed;
}

Reference Reference::with_tag(std::string_view tag) const {
  if (!is_valid_tag(tag)) {
    refuse(tag, "invalid-format", fmt::format("it cannot be a tag of {}", name()));
  }
  Reference changed = *this;
  changed.tag_ = std::string{tag};
  changed.digest_.reset();
  return changed;
}

}  // namespace sparkrun::oci
