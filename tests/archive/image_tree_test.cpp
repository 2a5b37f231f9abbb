// SPDX-License-Identifier: MIT
#include "archive/image_tree.hpp"

#include "base/error.hpp"
#include "support/fake_layout.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace sparkrun::archive {
namespace {

const auto arm = test::make_whole_image("linux/arm64", "layer of arm");
const auto amd = test::make_whole_image("linux/amd64", "layer of amd");
const auto proof = test::make_whole_image("unknown/unknown", "attestation of arm");

Digest digest_of(const std::string& body) { return Digest::sha256_of(body); }

// Answers all questions from these documents.
void complete(ImageTree& tree, const std::vector<std::string>& documents) {
  while (const auto wanted = tree.next()) {
    const auto found = std::ranges::find_if(
        documents, [&](const std::string& body) { return wanted->digest.matches(body); });
    ASSERT_NE(found, documents.end()) << wanted->digest.to_string();
    tree.add(*found);
  }
}

std::vector<Digest> digests(const std::vector<oci::Descriptor>& descriptors) {
  std::vector<Digest> result;
  for (const auto& descriptor : descriptors) result.push_back(descriptor.digest);
  return result;
}

TEST(ImageTree, HasTheLockedBuildsAndTheirAttestations) {
  const std::string index = test::make_index(
      {test::child_of(amd), test::child_of(arm), test::attestation_child(proof, arm.manifest)});
  ImageTree tree{digest_of(index), {digest_of(arm.manifest)}};

  complete(tree, {index, arm.manifest, proof.manifest});

  EXPECT_EQ(digests(tree.documents()),
            (std::vector{digest_of(index), digest_of(arm.manifest), digest_of(proof.manifest)}));
  EXPECT_EQ(digests(tree.blobs()), (std::vector{digest_of(arm.config), digest_of(arm.layer),
                                                digest_of(proof.config), digest_of(proof.layer)}));
  EXPECT_EQ(tree.left_out(), 1U);
  EXPECT_EQ(tree.root().size, static_cast<long long>(index.size()));
}

TEST(ImageTree, LeavesTheAttestationOfAnotherBuildOut) {
  const std::string index = test::make_index(
      {test::child_of(amd), test::child_of(arm), test::attestation_child(proof, arm.manifest)});
  ImageTree tree{digest_of(index), {digest_of(amd.manifest)}};

  complete(tree, {index, amd.manifest});

  EXPECT_EQ(tree.left_out(), 2U);
}

TEST(ImageTree, IsASingleManifestWhereTheLockHasNoIndex) {
  ImageTree tree{digest_of(arm.manifest), {digest_of(arm.manifest)}};

  complete(tree, {arm.manifest});

  EXPECT_EQ(tree.blobs().size(), 2U);
  EXPECT_EQ(tree.left_out(), 0U);
}

TEST(ImageTree, LooksIntoIndexesWithinTheIndexOnlyForWhatIsMissing) {
  const std::string inner = test::make_index({test::child_of(arm)});
  const std::string outer = test::make_index(
      {test::child_of(amd),
       fmt::format(R"({{"mediaType":"{}","digest":"{}","size":{}}})", oci::media_type::oci_index,
                   test::digest_of(inner), inner.size())});
  ImageTree both{digest_of(outer), {digest_of(amd.manifest), digest_of(arm.manifest)}};
  ImageTree one{digest_of(outer), {digest_of(amd.manifest)}};

  complete(both, {outer, inner, amd.manifest, arm.manifest});
  complete(one, {outer, amd.manifest});

  EXPECT_EQ(both.documents().size(), 4U);
  EXPECT_EQ(both.left_out(), 0U);
  EXPECT_EQ(one.left_out(), 1U);
}

std::string error_of(ImageTree& tree, const std::vector<std::string>& documents) {
  try {
    complete(tree, documents);
  } catch (const Error& error) {
    return std::string{error.id()};
  }
  return "none";
}

TEST(ImageTree, RefusesALockWhoseBuildIsNotPartOfItsIndex) {
  const std::string index = test::make_index({test::child_of(amd)});
  ImageTree tree{digest_of(index), {digest_of(arm.manifest)}};

  EXPECT_EQ(error_of(tree, {index}), "lock.invalid");
}

TEST(ImageTree, RefusesADocumentOfAnotherSizeOrKindThanItsDescriptorSays) {
  std::string lying = test::child_of(arm);
  const std::string size = fmt::format("\"size\":{}", arm.manifest.size());
  lying.replace(lying.find(size), size.size(), "\"size\":1");
  const std::string index = test::make_index({lying});
  ImageTree tree{digest_of(index), {digest_of(arm.manifest)}};
  EXPECT_EQ(error_of(tree, {index, arm.manifest}), "registry.content_mismatch");

  const std::string inner = test::make_index({test::child_of(arm)});
  const std::string outer = test::make_index({test::child_json(
      inner, oci::media_type::oci_manifest, oci::Platform::parse("linux/arm64"))});
  ImageTree nested{digest_of(outer), {digest_of(inner)}};
  EXPECT_EQ(error_of(nested, {outer, inner}), "registry.not_a_registry");
}

}  // namespace
}  // namespace sparkrun::archive
