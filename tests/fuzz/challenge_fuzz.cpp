// SPDX-License-Identifier: MIT
#include "base/text.hpp"
#include "fuzz/support.hpp"
#include "oci/challenge.hpp"

// Each line is a WWW-Authenticate header. Whatever a server writes, what is understood of it can be
// said again in the plain form of RFC 9110, and no password goes where none was asked for.
namespace sparkrun::fuzz {
namespace {

using oci::Challenge;
using Challenges = std::vector<Challenge>;

bool is_equal(const Challenges& a, const Challenges& b) {
  return std::ranges::equal(a, b, [](const Challenge& x, const Challenge& y) {
    return x.scheme == y.scheme && x.values == y.values;
  });
}

std::string quoted(std::string_view value) {
  std::string text = "\"";
  for (const char c : value) {
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  return text + '"';
}

std::string written(const Challenges& challenges) {
  std::string text;
  for (const Challenge& challenge : challenges) {
    if (!text.empty()) text += ", ";
    text += challenge.scheme;
    std::string_view before = " ";
    for (const auto& [key, value] : challenge.values) {
      text.append(before).append(key).append("=").append(quoted(value));
      before = ", ";
    }
  }
  return text;
}

bool is_lower_token(std::string_view text) {
  return !text.empty() && text == to_lower(text) &&
         text.find_first_of(" \t,=\"\\/:;()<>?@[]{}") == std::string_view::npos;
}

void check_choice(const Challenges& challenges) {
  for (const bool has_password : {false, true}) {
    const auto chosen = choose_challenge(challenges, has_password);
    if (!chosen) continue;
    const bool is_bearer = chosen->scheme == "bearer" && !chosen->value("realm").empty();
    expect(is_bearer || (chosen->scheme == "basic" && has_password), "the choice can be acted on");
    expect(is_bearer || std::ranges::none_of(challenges,
                                             [](const Challenge& challenge) {
                                               return challenge.scheme == "bearer" &&
                                                      !challenge.value("realm").empty();
                                             }),
           "Bearer comes before Basic");
  }
}

}  // namespace

void try_input(std::string_view input) {
  std::vector<std::string> headers;
  for (const std::string_view line : split(input, '\n')) headers.emplace_back(line);
  const Challenges challenges = oci::parse_challenges(headers);

  Challenges one_by_one;
  for (const std::string& header : headers) {
    for (Challenge& challenge : oci::parse_challenges({&header, 1})) {
      one_by_one.push_back(std::move(challenge));
    }
  }
  expect(is_equal(challenges, one_by_one), "headers are independent of one another");
  for (const Challenge& challenge : challenges) {
    expect(is_lower_token(challenge.scheme), "a scheme is a token in lower case");
    for (const auto& [key, value] : challenge.values) {
      expect(is_lower_token(key) && challenge.value(key) == value, "so is a key");
    }
  }
  const std::string plain = written(challenges);
  expect(is_equal(oci::parse_challenges({&plain, 1}), challenges), "it reads back");
  check_choice(challenges);
}

}  // namespace sparkrun::fuzz
