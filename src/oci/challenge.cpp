// SPDX-License-Identifier: MIT
#include "oci/challenge.hpp"

#include "base/text.hpp"

#include <algorithm>

namespace sparkrun::oci {
namespace {

constexpr std::string_view blank = " \t";

bool is_token_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view{"!#$%&'*+-.^_`|~"}.find(c) != std::string_view::npos;
}

// Reads one header value from left to right.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : left_(text) {}

  [[nodiscard]] bool is_at_end() const { return left_.empty(); }
  void skip_blanks() {
    take_while([](char c) { return blank.find(c) != std::string_view::npos; });
  }
  bool skip(char c) {
    if (!left_.starts_with(c)) return false;
    left_.remove_prefix(1);
    return true;
  }
  std::string_view take_token() { return take_while(is_token_character); }
  void skip_to_comma() {
    take_while([](char c) { return c != ','; });
  }

  // A quoted string, or anything up to a comma or blank: unquoted realms with `:` and `/` occur.
  std::string take_value() {
    if (!skip('"')) {
      const auto is_plain = [](char c) {
        return c != ',' && blank.find(c) == std::string_view::npos;
      };
      return std::string{take_while(is_plain)};
    }
    std::string value;
    while (!left_.empty() && !skip('"')) {
      if (left_.size() > 1 && left_.front() == '\\') left_.remove_prefix(1);
      value += left_.front();
      left_.remove_prefix(1);
    }
    return value;
  }

 private:
  template <typename Predicate>
  std::string_view take_while(Predicate predicate) {
    const auto end = std::find_if_not(left_.begin(), left_.end(), predicate);
    const auto taken = left_.substr(0, static_cast<size_t>(end - left_.begin()));
    left_.remove_prefix(taken.size());
    return taken;
  }

  std::string_view left_;
};

// `scheme token68` and `scheme key=value, key=value` share the comma with the list of challenges: a
// word is a key when `=` follows, else a scheme, unless it stands right after one.
void parse_header(std::string_view text, std::vector<Challenge>& challenges) {
  Scanner scanner{text};
  bool has_challenge = false;
  bool is_after_scheme = false;
  while (!scanner.is_at_end()) {
    scanner.skip_blanks();
    if (scanner.skip(',')) {
      is_after_scheme = false;
      continue;
    }
    const std::string word = to_lower(scanner.take_token());
    scanner.skip_blanks();
    if (word.empty()) {
      scanner.skip_to_comma();
    } else if (has_challenge && scanner.skip('=')) {
      scanner.skip_blanks();
      challenges.back().values.emplace(word, scanner.take_value());
      is_after_scheme = false;
    } else if (is_after_scheme) {
      scanner.skip_to_comma();
    } else {
      challenges.push_back({.scheme = word});
      has_challenge = is_after_scheme = true;
    }
  }
}

}  // namespace

std::string Challenge::value(std::string_view key) const {
  const auto found = values.find(std::string{key});
  return found == values.end() ? "" : found->second;
}

std::vector<Challenge> parse_challenges(std::span<const std::string> headers) {
  std::vector<Challenge> challenges;
  for (const std::string& header : headers) parse_header(header, challenges);
  return challenges;
}

std::optional<Challenge> choose_challenge(std::span<const Challenge> challenges,
                                          bool has_password) {
  const auto bearer = std::ranges::find_if(challenges, [](const Challenge& challenge) {
    return challenge.scheme == "bearer" && !challenge.value("realm").empty();
  });
  if (bearer != challenges.end()) return *bearer;
  const auto basic = std::ranges::find(challenges, "basic", &Challenge::scheme);
  if (has_password && basic != challenges.end()) return *basic;
  return std::nullopt;
}

}  // namespace sparkrun::oci
