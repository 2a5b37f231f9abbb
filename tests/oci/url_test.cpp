// SPDX-License-Identifier: MIT
#include "oci/url.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace sparkrun::oci {
namespace {

TEST(Url, ResolvesWhatServersWrite) {
  const std::string base = "https://reg.test:5000/v2/a/tags/list?n=1";
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"https://auth.test/token", "https://auth.test/token"},
      {"HTTP://auth.test/", "HTTP://auth.test/"},
      {"//auth.test/token", "https://auth.test/token"},
      {"/token", "https://reg.test:5000/token"},
      {"?last=x", "https://reg.test:5000/v2/a/tags/list?last=x"},
      {"more", "https://reg.test:5000/v2/a/tags/more"},
  };
  for (const auto& [reference, resolved] : rows) {
    EXPECT_EQ(resolve_url(base, reference), resolved);
  }
  EXPECT_EQ(resolve_url("https://reg.test", "x"), "https://reg.test/x");
}

TEST(Url, HasAnOriginWithoutTheDefaultPort) {
  EXPECT_EQ(origin_of("HTTPS://Reg.Test:443/x"), "https://reg.test");
  EXPECT_EQ(origin_of("http://reg.test:80"), "http://reg.test");
  EXPECT_EQ(origin_of("http://reg.test:443/x?y#z"), "http://reg.test:443");
  EXPECT_EQ(origin_of("nonsense"), "");
}

TEST(Url, EncodesAllButUnreservedCharacters) {
  EXPECT_EQ(percent_encode("repository:a/b_c:pull"), "repository%3Aa%2Fb_c%3Apull");
  EXPECT_EQ(percent_encode("a b&\xc3\xa9"), "a%20b%26%C3%A9");
}

TEST(Url, KnowsThisMachine) {
  for (const std::string host :
       {"localhost", "LOCALHOST:5000", "127.0.0.1", "127.1.2.3:80", "[::1]", "[::1]:5000",
        "http://127.0.0.1:5000", "https://localhost"}) {
    EXPECT_TRUE(is_loopback(host)) << host;
  }
  for (const std::string host : {"docker.io", "127.evil.com", "127.0.0.1.evil.com", "128.0.0.1",
                                 "[::2]", "localhost.evil.com", ""}) {
    EXPECT_FALSE(is_loopback(host)) << host;
  }
}

}  // namespace
}  // namespace sparkrun::oci
