// SPDX-License-Identifier: MIT
#include "oci/credential_file.hpp"

#include "base/base64.hpp"
#include "base/error.hpp"

#include <gtest/gtest.h>

namespace sparkrun::oci {
namespace {

CredentialFile parse(const std::string& text) {
  return CredentialFile::parse(text, "/h/.docker/config.json");
}

std::string user_at(const CredentialFile& file, const std::string& registry,
                    const std::string& repository) {
  const auto found = file.find(registry, repository);
  return found ? found->credential.username : "nobody";
}

std::string auths(const std::vector<std::pair<std::string, std::string>>& users) {
  std::string text = R"({"auths":{)";
  for (const auto& [key, user] : users) {
    if (text.back() == '}') text += ",";
    text += "\"" + key + R"(":{"auth":")" + to_base64(user + ":pw") + "\"}";
  }
  return text + "}}";
}

TEST(CredentialFile, AreReadFromBase64) {
  const auto found =
      parse(R"({"auths":{"nvcr.io":{"auth":")" + to_base64("$oauthtoken:a:b") + "\"}}}")
          .find("nvcr.io", "nvidia/cuda");

  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->credential.username, "$oauthtoken");
  EXPECT_EQ(found->credential.password, "a:b");
  EXPECT_EQ(found->credential.basic(), "Basic " + to_base64("$oauthtoken:a:b"));
}

TEST(CredentialFile, AreReadFromPlainMembersAndTokens) {
  const CredentialFile credentials = parse(
      R"({"auths":{"a.test":{"username":"u","password":"p"},"b.test":{"identitytoken":"i"},
      "c.test":{"registrytoken":"r"}}})");

  EXPECT_EQ(credentials.find("a.test", "x")->credential.password, "p");
  EXPECT_EQ(credentials.find("b.test", "x")->credential.identity_token, "i");
  EXPECT_EQ(credentials.find("c.test", "x")->credential.registry_token, "r");
  EXPECT_FALSE(credentials.find("d.test", "x").has_value());
}

TEST(CredentialFile, OfDockerHubAreFoundUnderAllItsNames) {
  for (const std::string key :
       {"https://index.docker.io/v1/", "index.docker.io", "docker.io", "registry-1.docker.io",
        "https://registry-1.docker.io/v2/", "https://index.docker.io/v1"}) {
    EXPECT_EQ(user_at(parse(auths({{key, "me"}})), "docker.io", "library/ubuntu"), "me") << key;
  }
}

TEST(CredentialFile, OfDockerHubAreThoseOfDockerLogin) {
  const std::string login_key = "https://index.docker.io/v1/";

  EXPECT_EQ(user_at(parse(auths({{"docker.io", "old"}, {login_key, "me"}})), "docker.io", "a/b"),
            "me");
  EXPECT_EQ(user_at(parse(auths({{login_key, "me"}, {"docker.io", "old"}})), "docker.io", "a/b"),
            "me");
}

TEST(CredentialFile, AreThoseOfTheLongestPath) {
  const CredentialFile credentials =
      parse(auths({{"r.test", "host"}, {"r.test/team", "team"}, {"r.test/team/app", "app"}}));

  EXPECT_EQ(user_at(credentials, "r.test", "team/app"), "app");
  EXPECT_EQ(user_at(credentials, "r.test", "team/app/v1"), "app");
  EXPECT_EQ(user_at(credentials, "r.test", "team/other"), "team");
  EXPECT_EQ(user_at(credentials, "r.test", "teamster"), "host");
}

TEST(CredentialFile, OfAnotherPathOrPortAreNotUsed) {
  const CredentialFile credentials =
      parse(auths({{"r.test/team/v1", "team"}, {"p.test:5000", "port"}}));

  EXPECT_EQ(user_at(credentials, "r.test", "team/v1"), "team");
  EXPECT_EQ(user_at(credentials, "r.test", "team"), "nobody");
  EXPECT_EQ(user_at(credentials, "r.test", "team/other"), "nobody");
  EXPECT_EQ(user_at(credentials, "p.test", "x"), "nobody");
}

TEST(CredentialFile, AreLookedForFurtherWhereAnEntryIsEmpty) {
  const CredentialFile credentials =
      parse(R"({"auths":{"r.test":{"username":"u","password":"p"},"r.test/a":{},"e.test":{}}})");

  EXPECT_EQ(user_at(credentials, "r.test", "a"), "u");
  EXPECT_FALSE(credentials.find("e.test", "a").has_value());
}

TEST(CredentialFile, RememberTheHelpers) {
  const CredentialFile credentials =
      parse(R"({"credsStore":"desktop","credHelpers":{"https://nvcr.io":"ngc"}})");

  EXPECT_EQ(credentials.helper("nvcr.io"), "ngc");
  EXPECT_EQ(credentials.helper("docker.io"), "desktop");
  EXPECT_FALSE(parse("{}").helper("docker.io").has_value());
}

TEST(CredentialFile, MaySwitchAHelperOffForARegistry) {
  EXPECT_FALSE(parse(R"({"credsStore":"desktop","credHelpers":{"nvcr.io":""}})")
                   .helper("nvcr.io")
                   .has_value());
}

TEST(CredentialFile, TellsKeysWithAPathFromHosts) {
  const CredentialFile file = parse(auths({{"r.test", "host"}, {"r.test/team", "team"}}));

  EXPECT_FALSE(file.find("r.test", "other")->is_of_path);
  EXPECT_TRUE(file.find("r.test", "team/app")->is_of_path);
}

TEST(HelperKey, IsTheRegistryExceptForDockerHub) {
  EXPECT_EQ(helper_key("nvcr.io"), "nvcr.io");
  EXPECT_EQ(helper_key("r.test:5000"), "r.test:5000");
  EXPECT_EQ(helper_key("docker.io"), "https://index.docker.io/v1/");
}

TEST(CredentialFile, ThatAreMalformedNameTheFileAndNeverTheSecret) {
  for (const std::string text :
       {"", "[]", R"({"auths":[]})", R"({"auths":{"r.test":"hunter2"}})",
        R"({"auths":{"r.test":{"auth":"hunter2!"}}})",
        R"({"auths":{"r.test":{"auth":"aHVudGVyMg=="}}})",
        R"({"auths":{"r.test":{"registrytoken":"hunter2\r\nX: y"}}})", R"({"credHelpers":1})",
        R"({"auths":{"r.test":{"auth":5}}})", R"({"auths":{"r.test":{"password":["hunter2"]}}})",
        R"({"credHelpers":{"r.test":5}})", R"({"credsStore":{}})", R"({"credsStore":"../evil"})",
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

}  // namespace
}  // namespace sparkrun::oci
