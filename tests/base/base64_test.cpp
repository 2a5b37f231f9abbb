// SPDX-License-Identifier: MIT
#include "base/base64.hpp"

#include <gtest/gtest.h>

namespace sparkrun {
namespace {

// RFC 4648 section 10.
constexpr std::pair<std::string_view, std::string_view> vectors[] = {
    {"", ""},
    {"f", "Zg=="},
    {"fo", "Zm8="},
    {"foo", "Zm9v"},
    {"foob", "Zm9vYg=="},
    {"fooba", "Zm9vYmE="},
    {"foobar", "Zm9vYmFy"},
};

TEST(Base64, AgreesWithTheVectorsOfTheRfc) {
  for (const auto& [bytes, text] : vectors) {
    EXPECT_EQ(to_base64(bytes), text);
    EXPECT_EQ(from_base64(text), std::optional<std::string>{bytes});
  }
}

TEST(Base64, NeedsNoPaddingToRead) {
  EXPECT_EQ(from_base64("Zg"), std::optional<std::string>{"f"});
  EXPECT_EQ(from_base64("Zm8"), std::optional<std::string>{"fo"});
}

TEST(Base64, CarriesEveryByte) {
  std::string bytes;
  for (int length = 0; length < 258; ++length) {
    EXPECT_EQ(from_base64(to_base64(bytes)), std::optional{bytes});
    bytes += static_cast<char>(length);
  }
}

TEST(Base64, RejectsEverythingElse) {
  for (const std::string_view text : {"Z", "Zg=", "Zg===", "Zm9v=", "=", "====", "Zg==Zg==", "Z=g=",
                                      "Zm9v\n", " Zm9v", "Zm-_", "Zm9v!", "Zm9\xc3\xbc"}) {
    EXPECT_EQ(from_base64(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace sparkrun
