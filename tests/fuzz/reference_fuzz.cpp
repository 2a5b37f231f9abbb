// SPDX-License-Identifier: MIT
#include "base/text.hpp"
#include "fuzz/support.hpp"
#include "oci/reference.hpp"

#include <array>

// The input is a reference, and a tag. What is accepted goes into URLs, command lines and
// lockfiles: it must be harmless in all of them, and mean the same when it is read again.
namespace sparkrun::fuzz {
namespace {

using oci::Reference;

const Digest some_digest = Digest::sha256_of("");

std::variant<Reference, Error> parse(std::string_view text) {
  return outcome_of({"reference.malformed"}, [&] { return Reference::parse(text); });
}

bool reads_back(const Reference& reference) {
  return std::get<Reference>(parse(reference.to_string())) == reference;
}

bool is_harmless(std::string_view text) {
  return std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view{"._-/:@[]"}.find(c) != std::string_view::npos;
  });
}

void check_refusal(const Error& error) {
  constexpr auto causes = std::to_array<std::string_view>(
      {"invalid-format", "name-not-lowercase", "name-too-long", "digest-format", "digest-length",
       "digest-unsupported", "ambiguous-64-hex-id"});
  const auto cause = error.details().find("cause");
  expect(cause != error.details().end() && std::ranges::find(causes, cause->second) != causes.end(),
         "a refusal has one of the documented causes");
  expect(std::string_view{error.what()}.size() < 2500, "a message is no longer than can be read");
}

void check(const Reference& reference) {
  const std::string text = reference.to_string();
  expect(is_harmless(text) && !text.starts_with('-'), "no shell and no URL sees more than a name");
  for (const std::string_view part : split(reference.repository(), '/')) {
    expect(!part.empty() && part.find("..") == std::string_view::npos, "no path leads upwards");
  }
  expect(reference.repository().size() <= 255, "a name has a bounded length");
  expect(reference.registry() != "index.docker.io", "Docker Hub has one name");
  const bool is_bare = !reference.tag() && !reference.digest();
  expect(reads_back(is_bare ? reference.with_tag("latest") : reference), "it reads back");
  expect(!is_bare || text == reference.with_tag("latest").to_string(), "`latest` is the default");
  expect(text.ends_with(reference.familiar()), "the familiar form only leaves out the beginning");
  expect(reference.name() == reference.registry() + "/" + reference.repository(), "the name");

  const Reference pinned = reference.with_digest(some_digest);
  expect(pinned.digest() == some_digest && !pinned.tag() && reads_back(pinned), "with_digest");
  expect(pinned.name() == reference.name(), "pinning keeps the name");
}

void check_tag(std::string_view text) {
  const Reference untagged = Reference::parse("r.test/a").with_digest(some_digest);
  const auto outcome = outcome_of({"reference.malformed"}, [&] { return untagged.with_tag(text); });
  const auto* const tagged = std::get_if<Reference>(&outcome);
  expect((tagged != nullptr) == Reference::is_valid_tag(text), "with_tag is for valid tags");
  if (tagged == nullptr) return check_refusal(std::get<Error>(outcome));
  expect(text.size() <= 128, "a tag has a bounded length");
  expect(tagged->tag() == text && !tagged->digest() && reads_back(*tagged), "with_tag");
}

}  // namespace

void try_input(std::string_view input) {
  const auto outcome = parse(input);
  if (const auto* const error = std::get_if<Error>(&outcome))
    check_refusal(*error);
  else
    check(std::get<Reference>(outcome));
  check_tag(input);
}

}  // namespace sparkrun::fuzz
