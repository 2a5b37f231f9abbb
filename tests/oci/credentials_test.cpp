// SPDX-License-Identifier: MIT
#include "oci/credentials.hpp"

#include "base/base64.hpp"
#include "base/error.hpp"

#include <gtest/gtest.h>

namespace sparkrun::oci {
namespace {

Credentials parse(const std::string& text) {
  return Credentials::parse(text, "/h/.docker/config.json");
}

std::string user_at(const Credentials& credentials, const std::string& registry,
                    const std::string& repository) {
  return credentials.find(registry, repository).value_or(Credential{.username = "nobody"}).username;
}

std::string auths(const std::vector<std::pair<std::string, std::string>>& users) {
  std::string text = R"({"auths":{)";
  for (const auto& [key, user] : users) {
    if (text.back() == '}') text += ",";
    text += "\"" + key + R"(":{"auth":")" + to_base64(user + ":pw") + "\"}";
  }
  return text + "}}";
}

TEST(Credentials, AreReadFromBase64) {
  const auto found =
      parse(R"({"auths":{"nvcr.io":{"auth":")" + to_base64("$oauthtoken:a:b") + "\"}}}")
          .find("nvcr.io", "nvidia/cuda");

  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->username, "$oauthtoken");
  EXPECT_EQ(found->password, "a:b");
  EXPECT_EQ(found->basic(), "Basic " + to_base64("$oauthtoken:a:b"));
}

TEST(Credentials, AreReadFromPlainMembersAndTokens) {
  const Credentials credentials = parse(
      R"({"auths":{"a.test":{"username":"u","password":"p"},"b.test":{"identitytoken":"i"},
      "c.test":{"registrytoken":"r"}}})");

  EXPECT_EQ(credentials.find("a.test", "x")->password, "p");
  EXPECT_EQ(credentials.find("b.test", "x")->identity_token, "i");
  EXPECT_EQ(credentials.find("c.test", "x")->registry_token, "r");
  EXPECT_FALSE(credentials.find("d.test", "x").has_value());
}

TEST(Credentials, OfDockerHubAreFoundUnderAllItsNames) {
  for (const std::string key :
       {"https://index.docker.io/v1/", "index.docker.io", "docker.io", "registry-1.docker.io",
        "https://registry-1.docker.io/v2/", "https://index.docker.io/v1"}) {
    EXPECT_EQ(user_at(parse(auths({{key, "me"}})), "docker.io", "library/ubuntu"), "me") << key;
  }
}

TEST(Credentials, OfDockerHubAreThoseOfDockerLogin) {
  const std::string login_key = "https://index.docker.io/v1/";

  EXPECT_EQ(user_at(parse(auths({{"docker.io", "old"}, {login_key, "me"}})), "docker.io", "a/b"),
            "me");
  EXPECT_EQ(user_at(parse(auths({{login_key, "me"}, {"docker.io", "old"}})), "docker.io", "a/b"),
            "me");
}

TEST(Credentials, AreThoseOfTheLongestPath) {
  const Credentials credentials =
      parse(auths({{"r.test", "host"}, {"r.test/team", "team"}, {"r.test/team/app", "app"}}));

  EXPECT_EQ(user_at(credentials, "r.test", "team/app"), "app");
  EXPECT_EQ(user_at(credentials, "r.test", "team/app/v1"), "app");
  EXPECT_EQ(user_at(credentials, "r.test", "team/other"), "team");
  EXPECT_EQ(user_at(credentials, "r.test", "teamster"), "host");
}

TEST(Credentials, OfAnotherPathOrPortAreNotUsed) {
  const Credentials credentials =
      parse(auths({{"r.test/team/v1", "team"}, {"p.test:5000", "port"}}));

  EXPECT_EQ(user_at(credentials, "r.test", "team/v1"), "team");
  EXPECT_EQ(user_at(credentials, "r.test", "team"), "nobody");
  EXPECT_EQ(user_at(credentials, "r.test", "team/other"), "nobody");
  EXPECT_EQ(user_at(credentials, "p.test", "x"), "nobody");
}

TEST(Credentials, AreLookedForFurtherWhereAnEntryIsEmpty) {
  const Credentials credentials =
      parse(R"({"auths":{"r.test":{"username":"u","password":"p"},"r.test/a":{},"e.test":{}}})");

  EXPECT_EQ(user_at(credentials, "r.test", "a"), "u");
  EXPECT_FALSE(credentials.find("e.test", "a").has_value());
}

TEST(Credentials, RememberTheHelpers) {
  const Credentials credentials =
      parse(R"({"credsStore":"desktop","credHelpers":{"https://nvcr.io":"ngc"}})");

  EXPECT_EQ(credentials.helper("nvcr.io"), "ngc");
  EXPECT_EQ(credentials.helper("docker.io"), "desktop");
  EXPECT_FALSE(parse("{}").helper("docker.io").has_value());
}

TEST(Credentials, ThatAreMalformedNameTheFileAndNeverTheSecret) {
  for (const std::string text :
       {"", "[]", R"({"auths":[]})", R"({"auths":{"r.test":"hunter2"}})",
        R"({"auths":{"r.test":{"auth":"hunter2!"}}})",
        R"({"auths":{"r.test":{"auth":"aHVudGVyMg=="}}})",
        R"({"auths":{"r.test":{"registrytoken":"hunter2\r\nX: y"}}})", R"({"credHelpers":1})",
        R"({"auths":{"r.test":{"auth":"hunter2")"}) {
    try {
      static_cast<void>(parse(text));
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.id(), "credentials.invalid");
      const std::string message = error.what();
      EXPECT_NE(message.find("/h/.docker/config.json"), std::string::npos);
      EXPECT_EQ(message.find("hunter2"), std::string::npos);
    }
  }
}

TEST(DockerConfigPath, IsTheVariableElseTheHomeFolder) {
  EXPECT_EQ(docker_config_path({.variables = {{"HOME", "/h"}}}), "/h/.docker/config.json");
  EXPECT_EQ(docker_config_path({.variables = {{"HOME", "/h"}, {"DOCKER_CONFIG", ""}}}),
            "/h/.docker/config.json");
  EXPECT_EQ(docker_config_path({.variables = {{"HOME", "/h"}, {"DOCKER_CONFIG", "/d"}}}),
            "/d/config.json");
}

}  // namespace
}  // namespace sparkrun::oci
