// SPDX-License-Identifier: MIT
#include "base/digest.hpp"

#include "base/error.hpp"
#include "base/text.hpp"

#include <gtest/gtest.h>

namespace sparkrun {
namespace {

// FIPS 180-4 example vectors.
constexpr std::string_view sha256_of_abc =
    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
constexpr std::string_view sha256_of_nothing =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
constexpr std::string_view sha512_of_abc =
    "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feeb"
    "bd454d4423643ce80e2a9a"
    "c94fa54ca49f";

std::string prefixed(std::string_view algorithm, std::string_view hex) {
  return std::string{algorithm} + ":" + std::string{hex};
}

TEST(Digest, AgreesWithThePublishedVectors) {
  EXPECT_EQ(sha256_hex("abc"), sha256_of_abc);
  EXPECT_EQ(sha256_hex(""), sha256_of_nothing);
  EXPECT_EQ(sha256_hex(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  EXPECT_EQ(sha256("abc").size(), 32U);
  EXPECT_EQ(sha512("abc").size(), 64U);
  EXPECT_EQ(Digest::sha256_of("abc").to_string(), prefixed("sha256", sha256_of_abc));
}

TEST(Digest, MatchesBytesByItsOwnAlgorithm) {
  const Digest short_one = Digest::parse(prefixed("sha256", sha256_of_abc));
  const Digest long_one = Digest::parse(prefixed("sha512", sha512_of_abc));

  EXPECT_TRUE(short_one.matches("abc"));
  EXPECT_TRUE(long_one.matches("abc"));
  EXPECT_FALSE(short_one.matches("abd"));
  EXPECT_FALSE(long_one.matches(""));
}

TEST(Digest, KeepsItsText) {
  for (const std::string& text :
       {prefixed("sha256", sha256_of_abc), prefixed("sha512", sha512_of_abc)}) {
    EXPECT_EQ(Digest::parse(text).to_string(), text);
  }
  EXPECT_EQ(Digest::sha256_of("abc").hex(), sha256_of_abc);
}

TEST(Digest, RejectsWhatIsNoDigest) {
  const std::string hex{sha256_of_abc};
  const std::string rows[] = {
      "",
      ":",
      "sha256",
      "sha256:",
      hex,
      "sha256:" + hex.substr(1),
      "sha256:" + hex + "0",
      "SHA256:" + hex,
      "sha256:" + std::string{"BA"} + hex.substr(2),
      "sha256: " + hex.substr(1),
      "sha256:" + hex + "\n",
      "sha512:" + hex,
      "md5:d41d8cd98f00b204e9800998ecf8427e",
      "sha256:" + hex.substr(0, 63) + "g",
      "sha384:" + std::string(96, '0'),
      " sha256:" + hex,
  };
  for (const std::string& text : rows) {
    EXPECT_FALSE(Digest::is_valid(text)) << text;
    try {
      Digest::parse(text);
      ADD_FAILURE() << "accepted: " << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.id(), "digest.malformed");
    }
  }
}

TEST(Digest, DoesNotEchoControlCharacters) {
  try {
    Digest::parse("\x1b[2J");
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "`?[2J` is not a sha256 or sha512 digest");
  }
}

TEST(Digest, IsOrderedByItsText) {
  EXPECT_LT(Digest::sha256_of("abc"), Digest::sha256_of(""));
  EXPECT_EQ(Digest::sha256_of("abc"), Digest::parse(prefixed("sha256", sha256_of_abc)));
}

TEST(Hasher, HashesPieceByPieceAndCanGoOn) {
  for (const Digest& expected :
       {Digest::sha256_of("one two"), Digest::parse("sha512:" + to_hex(sha512("one two")))}) {
    Hasher hasher{expected};
    hasher.add("one ");
    EXPECT_FALSE(hasher.matches());
    hasher.add("two");
    EXPECT_TRUE(hasher.matches());
    hasher.add("three");
    EXPECT_FALSE(hasher.matches());
    hasher.restart();
    hasher.add("one two");
    EXPECT_TRUE(hasher.matches());
  }
}

}  // namespace
}  // namespace sparkrun
