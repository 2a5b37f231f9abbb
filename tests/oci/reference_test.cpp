// SPDX-License-Identifier: MIT
#include "oci/reference.hpp"

#include "base/error.hpp"
#include "base/json_value.hpp"
#include "base/text.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <vector>

namespace sparkrun::oci {
namespace {

struct Fact {
  std::string id;
  std::string input;
  bool is_ok = false;
  std::string registry, repository, tag, digest, error_class, canonical;
};

// Columns: id, input (a JSON string), result, registry, repository, tag, digest, error class,
// canonical form.
std::vector<Fact> read_facts() {
  std::vector<Fact> facts;
  std::ifstream file{SPARKRUN_SOURCE_DIR "/tests/data/image-references.tsv"};
  for (std::string line; std::getline(file, line);) {
    const auto column = split(line, '\t');
    if (line.starts_with('#') || column.at(0) == "id") continue;
    facts.push_back({.id = std::string{column.at(0)},
                     .input = parse_json(column.at(1))->get<std::string>(),
                     .is_ok = column.at(2) == "ok",
                     .registry = std::string{column.at(3)},
                     .repository = std::string{column.at(4)},
                     .tag = std::string{column.at(5)},
                     .digest = std::string{column.at(6)},
                     .error_class = std::string{column.at(7)},
                     .canonical = std::string{column.at(8)}});
  }
  return facts;
}

Error refusal_of(std::string_view text) {
  try {
    const Reference reference = Reference::parse(text);
    return Error{"bug", "accepted as " + reference.to_string()};
  } catch (const Error& error) {
    return error;
  }
}

std::string cause_of(const Error& error) {
  const auto found = error.details().find("cause");
  return found == error.details().end() ? error.what() : found->second;
}

const std::string hex(64, 'a');

TEST(Reference, AgreesWithDistributionReferenceOnEveryFact) {
  const auto facts = read_facts();

  ASSERT_EQ(facts.size(), 60U);
  for (const Fact& fact : facts) {
    SCOPED_TRACE(fact.id + " " + fact.input);
    if (!fact.is_ok) {
      EXPECT_EQ(refusal_of(fact.input).id(), "reference.malformed");
      EXPECT_EQ(cause_of(refusal_of(fact.input)), fact.error_class);
      continue;
    }
    const Reference reference = Reference::parse(fact.input);
    EXPECT_EQ(reference.registry(), fact.registry);
    EXPECT_EQ(reference.repository(), fact.repository);
    EXPECT_EQ(reference.tag().value_or(""), fact.tag);
    EXPECT_EQ(reference.digest() ? reference.digest()->to_string() : "", fact.digest);
    EXPECT_EQ(reference.to_string(), fact.canonical);
  }
}

TEST(Reference, IsTheSameAfterPrintingAndParsing) {
  for (const Fact& fact : read_facts()) {
    if (!fact.is_ok) continue;
    const Reference printed = Reference::parse(Reference::parse(fact.input).to_string());
    EXPECT_EQ(printed.to_string(), fact.canonical);
    EXPECT_EQ(Reference::parse(printed.to_string()), printed);
  }
}

TEST(Reference, KeepsBothTagAndDigest) {
  const Reference reference = Reference::parse("nvcr.io/nvidia/cuda:13@sha256:" + hex);

  EXPECT_EQ(reference.tag(), "13");
  EXPECT_EQ(reference.to_string(), "nvcr.io/nvidia/cuda:13@sha256:" + hex);
  EXPECT_EQ(Reference::parse(reference.to_string()), reference);
}

TEST(Reference, TakesAnExplicitLatestForAnotherReferenceThanNone) {
  EXPECT_NE(Reference::parse("ubuntu"), Reference::parse("ubuntu:latest"));
  EXPECT_EQ(Reference::parse("ubuntu").to_string(), Reference::parse("ubuntu:latest").to_string());
}

TEST(Reference, SaysWhichPrefixToLeaveOut) {
  for (const std::string scheme : {"https://", "http://", "docker://", "oci://"}) {
    const std::string message = refusal_of(scheme + "nvcr.io/nvidia/cuda:13").what();
    EXPECT_NE(message.find("leave out `" + scheme + "`"), std::string::npos) << message;
  }
}

TEST(Reference, NamesTheRuleThatIsBroken) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"", "invalid-format"},
      {"repo:", "invalid-format"},
      {"repo@", "invalid-format"},
      {"repo@sha256:abc", "invalid-format"},
      {"docker.io/Library/x", "name-not-lowercase"},
      {"repo@md5:" + std::string(32, 'a'), "digest-unsupported"},
      {"repo@sha384:" + std::string(96, 'a'), "digest-unsupported"},
      {"repo@sha256:" + hex + "a", "digest-length"},
      {"repo@sha256:" + std::string(64, 'A'), "digest-format"},
      {hex, "ambiguous-64-hex-id"},
      {"my_host.com/x", "invalid-format"},
      {"[::1/x", "invalid-format"},
      {"[]/x", "invalid-format"},
      {"a b", "invalid-format"},
      {std::string{"a\0b", 3}, "invalid-format"},
      {"r\xc3\xa9po", "invalid-format"},
      {"example.com/" + std::string(256, 'b'), "name-too-long"},
  };
  for (const auto& [text, cause] : rows) {
    EXPECT_EQ(cause_of(refusal_of(text)), cause) << text;
  }
}

TEST(Reference, AcceptsARepositoryNameOf255Characters) {
  const std::string name(255, 'b');

  EXPECT_EQ(Reference::parse("example.com/" + name).repository(), name);
}

TEST(Reference, DoesNotQuoteTerminalControlsOrEndlessText) {
  const std::string message = refusal_of("\x1b[31m" + std::string(100'000, 'x') + "!").what();

  EXPECT_EQ(message.find('\x1b'), std::string::npos);
  EXPECT_LT(message.size(), 1000U);
}

TEST(Reference, IsFamiliarAsDockerPrintsIt) {
  EXPECT_EQ(Reference::parse("docker.io/library/ubuntu").familiar(), "ubuntu:latest");
  EXPECT_EQ(Reference::parse("unsloth/unsloth:dev").familiar(), "unsloth/unsloth:dev");
  EXPECT_EQ(Reference::parse("docker.io/library/a/b:1").familiar(), "library/a/b:1");
  EXPECT_EQ(Reference::parse("nvcr.io/nvidia/cuda:13").familiar(), "nvcr.io/nvidia/cuda:13");
  EXPECT_EQ(Reference::parse("ubuntu@sha256:" + hex).familiar(), "ubuntu@sha256:" + hex);
}

TEST(Reference, LosesItsTagToADigestAndItsDigestToATag) {
  const Reference reference = Reference::parse("nvcr.io/nvidia/cuda:13");
  const Reference pinned = reference.with_digest(Digest::parse("sha256:" + hex));

  EXPECT_EQ(pinned.to_string(), "nvcr.io/nvidia/cuda@sha256:" + hex);
  EXPECT_EQ(pinned.with_tag("12").to_string(), "nvcr.io/nvidia/cuda:12");
  EXPECT_EQ(pinned.name(), reference.name());
  EXPECT_THROW(static_cast<void>(reference.with_tag("-x")), Error);
}

}  // namespace
}  // namespace sparkrun::oci
