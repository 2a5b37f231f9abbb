// SPDX-License-Identifier: MIT
#include "oci/credentials.hpp"

#include "base/error.hpp"
#include "support/fake_processes.hpp"
#include "support/temp_dir.hpp"

#include <gtest/gtest.h>

namespace sparkrun::oci {
namespace {

constexpr std::string_view from_helper = R"({"ServerURL":"r.test","Username":"u","Secret":"p"})";

class CredentialsTest : public testing::Test {
 protected:
  Credentials of(const std::vector<std::string>& texts) {
    std::vector<CredentialFile> files;
    for (const std::string& text : texts) {
      files.push_back(CredentialFile::parse(text, "file " + std::to_string(files.size() + 1)));
    }
    return {std::move(files), processes, std::chrono::seconds{7}};
  }

  void helper_says(const std::string& out, int exit = 0, const std::string& err = "") {
    processes.on({"docker-credential-h"}, {.out = out, .err = err, .exit = exit});
  }

  test::FakeProcesses processes;
};

std::string plain(const std::string& key, const std::string& user) {
  return R"("auths":{")" + key + R"(":{"username":")" + user + R"(","password":"pw"}})";
}

TEST_F(CredentialsTest, AreThoseOfTheFirstFileThatHasThem) {
  Credentials credentials =
      of({"{}", "{" + plain("r.test", "second") + "}", "{" + plain("r.test", "third") + "}"});

  const auto login = credentials.find("r.test", "app");

  ASSERT_TRUE(login);
  EXPECT_EQ(login->credential.username, "second");
  EXPECT_EQ(login->source, "file 2");
  EXPECT_FALSE(credentials.find("other.test", "app"));
}

TEST_F(CredentialsTest, AreAskedOfTheHelper) {
  helper_says(std::string{from_helper});
  Credentials credentials = of({R"({"credHelpers":{"r.test":"h"}})"});

  const auto login = credentials.find("r.test", "app");

  ASSERT_TRUE(login);
  EXPECT_EQ(login->credential.password, "p");
  EXPECT_EQ(login->source, "docker-credential-h (file 1)");
  EXPECT_EQ(processes.ran.at(0).argv, (std::vector<std::string>{"docker-credential-h", "get"}));
  EXPECT_EQ(processes.ran.at(0).input, "r.test");
  EXPECT_EQ(processes.ran.at(0).timeout, std::chrono::seconds{7});
}

TEST_F(CredentialsTest, AreAskedOfTheHelperOnce) {
  helper_says(std::string{from_helper});
  Credentials credentials = of({R"({"credsStore":"h"})"});

  static_cast<void>(credentials.find("r.test", "a"));
  static_cast<void>(credentials.find("r.test", "b"));
  static_cast<void>(credentials.find("docker.io", "library/b"));

  ASSERT_EQ(processes.ran.size(), 2U);
  EXPECT_EQ(processes.ran.at(1).input, "https://index.docker.io/v1/");
}

TEST_F(CredentialsTest, OfTheUserTokenAreAnIdentityToken) {
  helper_says(R"({"Username":"<token>","Secret":"refresh"})");

  EXPECT_EQ(of({R"({"credsStore":"h"})"}).find("r.test", "a")->credential.identity_token,
            "refresh");
}

// c/image#1427: no login is not a failure.
TEST_F(CredentialsTest, ThatAHelperDoesNotHaveAreNone) {
  helper_says("credentials not found in native keychain\n", 1);

  EXPECT_FALSE(of({R"({"credsStore":"h"})"}).find("r.test", "a"));
  EXPECT_EQ(of({R"({"credsStore":"h",)" + plain("r.test", "me") + "}"})
                .find("r.test", "a")
                ->credential.username,
            "me");
}

// docker_credential#16: the helper that failed is named.
TEST_F(CredentialsTest, OfABrokenHelperAreAnErrorThatNamesIt) {
  const std::vector<sys::ProcessResult> results = {
      {.exit = 127, .spawn_errno = ENOENT},
      {.timed_out = true},
      {.err = "gpg: no key", .exit = 2},
      {.out = "not json"},
      {.out = "{}"},
      {.out = R"({"Username":"u","Secret":""})"},
  };
  for (const sys::ProcessResult& result : results) {
    processes.on({"docker-credential-h"}, result);
    Credentials credentials = of({R"({"credsStore":"h"})"});
    try {
      static_cast<void>(credentials.find("r.test", "a"));
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_EQ(error.id(), "credentials.helper_failed");
      EXPECT_NE(std::string{error.what()}.find("`docker-credential-h`"), std::string::npos);
    }
  }
}

// oras#1597: a key with a path says more than the host's helper.
TEST_F(CredentialsTest, OfAPathComeBeforeTheHelper) {
  helper_says(std::string{from_helper});
  Credentials credentials = of({R"({"credsStore":"h",)" + plain("r.test/team", "team") + "}"});

  EXPECT_EQ(credentials.find("r.test", "team/app")->credential.username, "team");
  EXPECT_EQ(credentials.find("r.test", "other/app")->credential.username, "u");
}

class CredentialFilesTest : public testing::Test {
 protected:
  std::vector<std::string> names(std::map<std::string, std::string, std::less<>> variables) {
    variables.emplace("HOME", folder.path() / "home");
    std::vector<std::string> found;
    for (const CredentialFile& file : read_credential_files({.variables = variables})) {
      found.push_back(file.name());
    }
    return found;
  }
  std::string write(const std::string& path) {
    folder.write(path, "{}");
    return (folder.path() / path).string();
  }

  test::TempDir folder;
};

TEST_F(CredentialFilesTest, AreDockersAndPodmans) {
  const std::vector<std::string> expected = {
      "DOCKER_AUTH_CONFIG", write("home/.docker/config.json"), write("run/containers/auth.json"),
      write("home/.config/containers/auth.json")};

  EXPECT_EQ(names({{"DOCKER_AUTH_CONFIG", "{}"}, {"XDG_RUNTIME_DIR", folder.path() / "run"}}),
            expected);
}

TEST_F(CredentialFilesTest, AreWhatTheVariablesSay) {
  write("home/.docker/config.json");
  const std::string docker = write("d/config.json"), named = write("auth.json");

  EXPECT_EQ(names({{"DOCKER_CONFIG", folder.path() / "d"}}), std::vector<std::string>{docker});
  EXPECT_EQ(names({{"REGISTRY_AUTH_FILE", named}}), std::vector<std::string>{named});
}

TEST_F(CredentialFilesTest, ThatWereNamedMustBeThere) {
  try {
    names({{"REGISTRY_AUTH_FILE", "/absent"}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.id(), "file.unreadable");
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
