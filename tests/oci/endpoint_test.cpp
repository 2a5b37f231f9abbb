// SPDX-License-Identifier: MIT
#include "oci/endpoint.hpp"

#include <gtest/gtest.h>

namespace sparkrun::oci {
namespace {

using Origins = std::vector<std::string>;

Origins origins(const std::string& registry, const RegistryOptions& options = {},
                Certificates certificates = {}) {
  return endpoints_of(registry, options, certificates).back().origins;
}

TEST(Endpoints, AreHttpsExceptOnThisMachine) {
  EXPECT_EQ(origins("docker.io"), Origins{"https://registry-1.docker.io"});
  EXPECT_EQ(origins("reg.test:5000"), Origins{"https://reg.test:5000"});
  EXPECT_EQ(origins("localhost:5000"),
            (Origins{"http://localhost:5000", "https://localhost:5000"}));
}

TEST(Endpoints, OfThisMachineAreHttpsFirstWhereACaIsNamed) {
  EXPECT_EQ(origins("127.0.0.1", {}, {"", true, {}}),
            (Origins{"https://127.0.0.1", "http://127.0.0.1"}));
  EXPECT_EQ(origins("127.0.0.1", {}, {"PEM", false, {}}),
            (Origins{"http://127.0.0.1", "https://127.0.0.1"}));
}

TEST(Endpoints, AreWhatTheListSays) {
  EXPECT_EQ(origins("reg.test:5000", {.plain_http = {"reg.test:5000"}}),
            Origins{"http://reg.test:5000"});
  EXPECT_EQ(origins("reg.test:5000", {.plain_http = {"reg.test"}}),
            Origins{"http://reg.test:5000"});
  EXPECT_EQ(origins("reg.test:5000", {.plain_http = {"reg.test:80"}}),
            Origins{"https://reg.test:5000"});
}

TEST(Endpoints, OfDockerHubBeginWithItsMirrors) {
  Certificates certificates;
  const auto endpoints = endpoints_of(
      "docker.io", {.hub_mirrors = {"https://a.test", "http://b.test:80/"}}, certificates);

  ASSERT_EQ(endpoints.size(), 3U);
  EXPECT_EQ(endpoints.at(0).host, "a.test");
  EXPECT_EQ(endpoints.at(1).origins, Origins{"http://b.test"});
  EXPECT_EQ(endpoints.at(2).host, "docker.io");
}

}  // namespace
}  // namespace sparkrun::oci
