// SPDX-License-Identifier: MIT
#include "oci/manifest.hpp"

#include "base/error.hpp"
#include "oci/media_type.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <vector>

namespace sparkrun::oci {
namespace {

const std::string digest = "sha256:" + std::string(64, 'a');

std::string index_json(const std::string& members = "") {
  return fmt::format(
      R"({{"schemaVersion":2,{}"manifests":[{{"mediaType":"{}","digest":"{}","size":7,)"
      R"("platform":{{"os":"linux","architecture":"arm64","variant":"v8"}},"annotations":{{"a":"b","n":1}}}}]}})",
      members, media_type::oci_manifest, digest);
}

std::string manifest_json(const std::string& members = "") {
  return fmt::format(
      R"({{"schemaVersion":2,{}"config":{{"digest":"{}","size":3}},"layers":[{{"digest":"{}","size":9}}]}})",
      members, digest, digest);
}

std::string media_type_member(std::string_view type) {
  return fmt::format(R"("mediaType":"{}",)", type);
}

std::string refusal_of(const std::string& body, const std::string& content_type = "") {
  try {
    static_cast<void>(parse_manifest(body, content_type));
    return "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.id(), "registry.not_a_registry");
    return error.what();
  }
}

TEST(Manifest, ReadsAnIndex) {
  const Manifest index = parse_manifest(index_json(), media_type::oci_index);

  EXPECT_EQ(index.kind, Kind::index);
  EXPECT_EQ(index.media_type, media_type::oci_index);
  ASSERT_EQ(index.manifests.size(), 1U);
  EXPECT_EQ(index.manifests[0].digest, Digest::parse(digest));
  EXPECT_EQ(index.manifests[0].size, 7);
  EXPECT_EQ(index.manifests[0].platform, Platform::parse("linux/arm64"));
  EXPECT_EQ(index.manifests[0].annotations, (std::map<std::string, std::string>{{"a", "b"}}));
}

TEST(Manifest, ReadsAManifest) {
  const Manifest manifest = parse_manifest(manifest_json(), media_type::docker_manifest);

  EXPECT_EQ(manifest.kind, Kind::manifest);
  EXPECT_EQ(manifest.media_type, media_type::docker_manifest);
  EXPECT_EQ(manifest.config->size, 3);
  EXPECT_EQ(manifest.layers.at(0).size, 9);
}

TEST(Manifest, IsJudgedByItsBodyWhereTheHeaderSaysNothing) {
  for (const std::string type : {"", "text/plain", "text/plain; charset=utf-8", "application/json",
                                 "application/octet-stream"}) {
    EXPECT_EQ(parse_manifest(index_json(), type).media_type, media_type::oci_index) << type;
    EXPECT_EQ(parse_manifest(manifest_json(), type).media_type, media_type::oci_manifest) << type;
    EXPECT_EQ(
        parse_manifest(index_json(media_type_member(media_type::docker_list)), type).media_type,
        media_type::docker_list)
        << type;
  }
}

TEST(Manifest, IsRefusedWhenHeaderAndBodyDisagree) {
  const std::string docker = media_type_member(media_type::docker_list);

  EXPECT_NE(
      refusal_of(index_json(docker), std::string{media_type::oci_index}).find("the header says"),
      std::string::npos);
  EXPECT_NE(refusal_of(manifest_json(), std::string{media_type::oci_index}), "accepted");
  EXPECT_NE(refusal_of(index_json(media_type_member(media_type::oci_manifest))), "accepted");
}

TEST(Manifest, IsNotAWebPage) {
  EXPECT_EQ(refusal_of("<!DOCTYPE html><html>login</html>"),
            "the answer is a web page, not a manifest");
  EXPECT_EQ(refusal_of(manifest_json(), "text/html; charset=utf-8"),
            "the answer is a web page, not a manifest");
}

TEST(Manifest, IsNeitherSchema1NorAnythingElse) {
  EXPECT_NE(refusal_of(R"({"schemaVersion":1,"name":"x","fsLayers":[]})",
                       "application/vnd.docker.distribution.manifest.v1+prettyjws")
                .find("schemaVersion 1"),
            std::string::npos);
  const std::vector<std::string> bodies = {
      "",
      "null",
      "[]",
      "7",
      "{}",
      R"({"schemaVersion":2})",
      R"({"schemaVersion":"2","manifests":[]})",
      R"({"schemaVersion":2,"manifests":{}})",
      R"({"schemaVersion":2,"manifests":[1]})",
      R"({"schemaVersion":2,"layers":[]})",
      fmt::format(R"({{"schemaVersion":2,"config":{{"digest":"{}","size":1}}}})", digest),
      R"({"schemaVersion":2,"config":{"digest":"sha256:abc","size":1},"layers":[]})",
      fmt::format(R"({{"schemaVersion":2,"config":{{"digest":"{}","size":-1}},"layers":[]}})",
                  digest),
      fmt::format(R"({{"schemaVersion":2,"config":{{"digest":"{}","size":1e30}},"layers":[]}})",
                  digest),
      fmt::format(
          R"({{"schemaVersion":2,"config":{{"digest":"{}","size":9223372036854775807}},"layers":[]}})",
          digest),
      fmt::format(
          R"({{"schemaVersion":2,"config":{{"digest":"{}","size":18446744073709551615}},"layers":[]}})",
          digest),
      fmt::format(R"({{"schemaVersion":2,"config":{{"digest":"{}"}},"layers":[]}})", digest),
      manifest_json().substr(0, 60),
      manifest_json(media_type_member("application/vnd.oci.artifact.manifest.v1+json")),
      std::string(100'000, '['),
  };
  for (const std::string& body : bodies) EXPECT_NE(refusal_of(body), "accepted") << body;
  EXPECT_NE(refusal_of(manifest_json(), "application/vnd.example"), "accepted");
}

TEST(Manifest, IsNotAnIndexAndAManifestAtOnce) {
  EXPECT_EQ(refusal_of(manifest_json(R"("manifests":[],)")),
            "the document is an index and a manifest at once");
}

TEST(Manifest, MayHaveChildrenWithoutPlatform) {
  const Manifest index = parse_manifest(
      fmt::format(
          R"({{"schemaVersion":2,"manifests":[{{"digest":"{}","size":1}},{{"digest":"{}","size":1,"platform":null}}]}})",
          digest, digest),
      "");

  EXPECT_EQ(index.manifests.size(), 2U);
  EXPECT_FALSE(index.manifests[0].platform.has_value());
}

TEST(MediaType, AsksForAllFourTypesInOneLine) {
  for (const std::string_view type : {media_type::oci_index, media_type::oci_manifest,
                                      media_type::docker_list, media_type::docker_manifest}) {
    EXPECT_NE(media_type::accepted.find(type), std::string_view::npos);
  }
}

TEST(Manifest, NamesAForeignTypeOnOneLine) {
  try {
    static_cast<void>(
        parse_manifest(R"({"schemaVersion":2,"mediaType":"x\nerror: forged","manifests":[]})", ""));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(std::string_view{error.what()}.find('\n'), std::string_view::npos) << error.what();
  }
}

// Platforms are printed: a forged line must not come of one.
TEST(Manifest, HasNoPlatformWithOtherCharactersThanNamesHave) {
  const auto platform_of = [](const std::string& architecture) {
    const std::string text = R"({"schemaVersion":2,"manifests":[{"digest":"sha256:)" +
                             std::string(64, '1') + R"(","size":1,"platform":{"os":"linux",)" +
                             R"("architecture":")" + architecture + R"("}}]})";
    return parse_manifest(text, "").manifests.at(0).platform;
  };

  EXPECT_TRUE(platform_of("arm64"));
  for (const char* const bad : {"arm64\\nsha256:0", "\\u001b[31m", "a b", ""}) {
    EXPECT_FALSE(platform_of(bad)) << bad;
  }
  EXPECT_FALSE(platform_of(std::string(65, 'a')));
}

}  // namespace
}  // namespace sparkrun::oci
