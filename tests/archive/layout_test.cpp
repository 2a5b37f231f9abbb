// SPDX-License-Identifier: MIT
#include "archive/layout.hpp"

#include "base/error.hpp"
#include "base/json_value.hpp"
#include "support/fake_image.hpp"

#include <gtest/gtest.h>

namespace sparkrun::archive {
namespace {

using Names = std::vector<std::string>;

LayoutImage image(const std::string& reference, const std::string& content, const Names& profiles) {
  return {.root = {.media_type = std::string{oci::media_type::oci_index},
                   .digest = Digest::sha256_of(content),
                   .size = static_cast<long long>(content.size())},
          .reference = reference,
          .profiles = profiles};
}

std::string error_of(const std::string& text) {
  try {
    parse_index(text);
  } catch (const Error& error) {
    return std::string{error.id()};
  }
  return "none";
}

TEST(ArchiveLayout, ReadsWhatItWrites) {
  const auto images = parse_index(add_images("", {image("reg.test/app:1", "one", {"a", "b"})}));

  ASSERT_EQ(images.size(), 1U);
  EXPECT_EQ(images[0].reference, "reg.test/app:1");
  EXPECT_EQ(images[0].root.digest, Digest::sha256_of("one"));
  EXPECT_EQ(images[0].root.size, 3);
  EXPECT_EQ(images[0].profiles, (Names{"a", "b"}));
}

TEST(ArchiveLayout, KeepsTheEntriesOfOtherReferencesAsTheyAre) {
  const std::string before =
      R"({"schemaVersion":2,"manifests":[{"mediaType":"application/vnd.oci.image.manifest.v1+json",)"
      R"("digest":")" +
      test::digest_of("x") +
      R"(","size":1,"artifactType":"a/b","annotations":{"org.opencontainers.image.ref.name":"other"}}],)"
      R"("annotations":{"k":"v"}})";

  const auto after = parse_json(add_images(before, {image("reg.test/app:1", "one", {"a"})}));

  const auto old = parse_json(before);
  ASSERT_EQ((*after)["manifests"].size(), 2U);
  EXPECT_EQ((*after)["manifests"][0], (*old)["manifests"][0]);
  EXPECT_EQ((*after)["annotations"], (*old)["annotations"]);
}

TEST(ArchiveLayout, AddingTheSameAgainChangesNoByte) {
  const std::string once = add_images("", {image("reg.test/app:1", "one", {"a"})});

  EXPECT_EQ(add_images(once, {image("reg.test/app:1", "one", {"a"})}), once);
}

TEST(ArchiveLayout, AnotherProfileOfTheSameDigestJoinsTheEntry) {
  const std::string once = add_images("", {image("reg.test/app:1", "one", {"b"})});

  const auto images = parse_index(add_images(once, {image("reg.test/app:1", "one", {"a"})}));

  ASSERT_EQ(images.size(), 1U);
  EXPECT_EQ(images[0].profiles, (Names{"a", "b"}));
}

TEST(ArchiveLayout, AMovedPinReplacesTheEntryExceptForOtherProfiles) {
  const std::string once = add_images("", {image("reg.test/app:1", "one", {"a", "b"})});

  const std::string twice = add_images(once, {image("reg.test/app:1", "two", {"a"})});

  const auto images = parse_index(twice);
  ASSERT_EQ(images.size(), 2U);
  EXPECT_EQ(images[0].root.digest, Digest::sha256_of("one"));
  EXPECT_EQ(images[0].profiles, Names{"b"});
  EXPECT_EQ(images[1].root.digest, Digest::sha256_of("two"));
  EXPECT_EQ(parse_index(add_images(twice, {image("reg.test/app:1", "two", {"b"})})).size(), 1U);
}

TEST(ArchiveLayout, BelievesNoNameOfAProfileThatIsNone) {
  LayoutImage hostile =
      image("reg.test/app:1", "one", {"../../x", "-rf", "ok", std::string(64, 'a')});

  EXPECT_EQ(parse_index(add_images("", {hostile})).at(0).profiles, Names{"ok"});
}

TEST(ArchiveLayout, RefusesIndexesThatAreNone) {
  const std::string traversal =
      R"({"schemaVersion":2,"manifests":[{"digest":"sha256:../../../etc/passwd","size":1}]})";
  const std::string negative =
      R"({"schemaVersion":2,"manifests":[{"digest":")" + test::digest_of("x") + R"(","size":-1}]})";
  for (const std::string& text :
       {std::string{}, std::string{"{"}, std::string{"[]"}, std::string{"<html>"},
        std::string(100'000, '['), std::string{R"({"schemaVersion":2})"}, traversal, negative}) {
    EXPECT_EQ(error_of(text), "archive.invalid") << text.substr(0, 80);
  }
}

TEST(ArchiveLayout, KnowsOneVersionOfTheMarker) {
  EXPECT_NO_THROW(check_marker(marker_text()));
  EXPECT_NO_THROW(check_marker(R"({"imageLayoutVersion": "1.0.0"})"));
  for (const std::string text : {"", "1.0.0", R"({"imageLayoutVersion":"2.0.0"})", "{}", "[[["}) {
    EXPECT_THROW(check_marker(text), Error) << text;
  }
}

}  // namespace
}  // namespace sparkrun::archive
