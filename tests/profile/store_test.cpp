// SPDX-License-Identifier: MIT
#include "profile/store.hpp"

#include "base/digest.hpp"
#include "base/error.hpp"
#include "support/temp_dir.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

namespace sparkrun::profile {
namespace {

using Strings = std::vector<std::string>;

// A home with a project below it, and folders for the user's and the system's profiles.
class StoreTest : public testing::Test {
 protected:
  StoreTest() {
    fs::create_directories(project_);
    environment_.working_directory = project_;
    environment_.variables = {{"HOME", home_.string()},
                              {"XDG_CONFIG_HOME", (home_ / "config").string()}};
  }

  void write(const fs::path& path, const std::string& text) { folder_.write(path, text); }
  void write_profile(Origin origin, const std::string& name, const std::string& rest) {
    const fs::path folder = origin == Origin::project ? project_ / "profiles"
                            : origin == Origin::user  ? home_ / "config/sparkrun/profiles"
                                                      : system_;
    write(folder / (name + ".toml"), "version = 1\n" + rest + "\n");
  }
  [[nodiscard]] Store store() const {
    return {find_project(environment_, std::nullopt), environment_, system_};
  }
  [[nodiscard]] std::string error_of(std::string_view name) const {
    try {
      static_cast<void>(store().load(name));
    } catch (const Error& error) {
      message_ = error.what();
      problems_ = error.problems();
      return std::string{error.id()};
    }
    return "";
  }

  test::TempDir folder_;
  fs::path home_ = folder_ / "home";
  fs::path project_ = home_ / "work/project";
  fs::path system_ = folder_ / "etc";
  sys::Environment environment_;
  mutable std::string message_;
  mutable Strings problems_;
};

constexpr const char* some_profile = "version = 1\nimage = \"a/b:1\"\n";

TEST_F(StoreTest, ProjectIsTheNearestFolderWithALockOrAProfile) {
  write(project_ / "lockfiles/x.lock", "");
  environment_.working_directory = project_ / "src/deep";
  fs::create_directories(environment_.working_directory);

  const Project by_lock = find_project(environment_, std::nullopt);
  write(project_ / "src/profiles/x.toml", some_profile);
  const Project by_profile = find_project(environment_, std::nullopt);

  EXPECT_EQ(by_lock.root, project_);
  EXPECT_TRUE(by_lock.is_project);
  EXPECT_EQ(by_profile.root, project_ / "src");
}

TEST_F(StoreTest, ProjectIsNotAFolderWithOtherTomlFiles) {
  write(project_ / "profiles/x.toml", "version = \"1.0\"\nname = \"not ours\"\n");

  const Project project = find_project(environment_, std::nullopt);

  EXPECT_EQ(project.root, project_);
  EXPECT_FALSE(project.is_project);
}

TEST_F(StoreTest, ProjectIsAFolderWhoseProfileIsBroken) {
  write(project_ / "profiles/x.toml", "version = 1\nimage = \"a/b:1\"\n[[[\n");

  EXPECT_TRUE(find_project(environment_, std::nullopt).is_project);
}

TEST_F(StoreTest, ProjectSearchStopsAtGitFolderAndFile) {
  write(home_ / "work/profiles/x.toml", some_profile);
  for (const bool is_file : {true, false}) {
    fs::remove_all(project_ / ".git");
    if (is_file)
      write(project_ / ".git", "gitdir: elsewhere\n");
    else
      fs::create_directories(project_ / ".git");

    const Project project = find_project(environment_, std::nullopt);

    EXPECT_EQ(project.root, project_);
    EXPECT_TRUE(project.is_project);
  }
}

TEST_F(StoreTest, ProjectIsNeverTheHomeFolderNorAbove) {
  write(home_ / "profiles/x.toml", some_profile);
  write(home_ / ".git", "");
  write(home_.parent_path() / "profiles/x.toml", some_profile);

  const Project below = find_project(environment_, std::nullopt);
  environment_.working_directory = home_;
  const Project at = find_project(environment_, std::nullopt);

  EXPECT_FALSE(below.is_project);
  EXPECT_EQ(below.root, project_);
  EXPECT_FALSE(at.is_project);
}

TEST_F(StoreTest, ProjectIsWhatDashCSays) {
  environment_.working_directory = home_;

  for (const char* const written : {"work/project", "work/project/", "./work/../work/project/."}) {
    const Project project = find_project(environment_, written);

    EXPECT_EQ(project.root.string(), project_.string());
    EXPECT_TRUE(project.is_project);
  }
  try {
    find_project(environment_, "nowhere");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.id(), "usage.bad_value");
  }
}

TEST_F(StoreTest, LooksInProjectThenUserThenSystemThenBuiltIn) {
  EXPECT_EQ(store().load("pytorch").origin, Origin::built_in);
  write_profile(Origin::system, "pytorch", "image = \"a/system:1\"");
  EXPECT_EQ(store().load("pytorch").origin, Origin::system);
  write_profile(Origin::user, "pytorch", "image = \"a/user:1\"");
  EXPECT_EQ(store().load("pytorch").origin, Origin::user);
  write_profile(Origin::project, "pytorch", "image = \"a/project:1\"");

  const Profile profile = store().load("pytorch");

  EXPECT_EQ(profile.origin, Origin::project);
  EXPECT_EQ(profile.name, "pytorch");
  EXPECT_EQ(profile.image, "a/project:1");
  EXPECT_EQ(profile.path, project_ / "profiles/pytorch.toml");
}

TEST_F(StoreTest, UnknownNamesAreAnsweredWithTheNearestAndThePlaces) {
  EXPECT_EQ(error_of("unslot"), "profile.unknown");
  EXPECT_NE(message_.find("did you mean `unsloth`?"), std::string::npos) << message_;
  EXPECT_NE(message_.find((home_ / "config/sparkrun/profiles").string()), std::string::npos)
      << message_;
  EXPECT_NE(message_.find(system_.string()), std::string::npos) << message_;
}

TEST_F(StoreTest, ANameNeverBecomesAPath) {
  write(home_ / "config/sparkrun/secret.toml", some_profile);

  EXPECT_EQ(error_of("../secret"), "profile.unknown");
  EXPECT_EQ(error_of(""), "profile.unknown");
}

TEST_F(StoreTest, ExtendsAcrossOriginsWithTheFileOfTheProjectOnTop) {
  write_profile(Origin::user, "mine", "extends = \"pytorch\"\n[container]\ninit = true");
  write_profile(Origin::project, "ours", "extends = \"mine\"\nimage = \"a/ours:1\"");

  const Profile profile = store().load("ours");

  EXPECT_EQ(profile.origin, Origin::project);
  EXPECT_EQ(profile.image, "a/ours:1");
  EXPECT_EQ(profile.purpose, "training");
  EXPECT_EQ(profile.container.size(), 4U);  // remove, init, ipc, ulimits
}

TEST_F(StoreTest, AProfileThatExtendsItsOwnNameMeansTheNextOriginDown) {
  write_profile(Origin::user, "pytorch", "extends = \"pytorch\"\nsummary = \"user\"");
  write_profile(Origin::project, "pytorch", "extends = \"pytorch\"\n[env]\nA = \"project\"");

  const Profile profile = store().load("pytorch");

  EXPECT_EQ(profile.summary, "user");
  EXPECT_EQ(profile.image, "nvcr.io/nvidia/pytorch:25.09-py3");
  EXPECT_EQ(profile.env.back(), (std::pair<std::string, std::string>{"A", "project"}));
}

TEST_F(StoreTest, AProjectNeverChangesWhatAUsersProfileExtends) {
  write_profile(Origin::project, "pytorch",
                "image = \"evil/image:1\"\n[container]\nprivileged = true");
  write_profile(Origin::user, "mine", "extends = \"pytorch\"");

  EXPECT_EQ(store().load("mine").image, "nvcr.io/nvidia/pytorch:25.09-py3");
}

TEST_F(StoreTest, RefusesCyclesAndLongChains) {
  write_profile(Origin::project, "a", "extends = \"b\"\nimage = \"x\"");
  write_profile(Origin::project, "b", "extends = \"a\"");
  EXPECT_EQ(error_of("a"), "profile.cycle");
  EXPECT_EQ(problems_.size(), 3U);

  for (int n = 1; n <= 8; ++n) {
    write_profile(Origin::project, fmt::format("n{}", n), fmt::format("extends = \"n{}\"", n + 1));
  }
  write_profile(Origin::project, "n9", "image = \"x\"");
  EXPECT_EQ(error_of("n1"), "profile.cycle");
  EXPECT_EQ(error_of("n2"), "");
}

TEST_F(StoreTest, SaysWhoExtendsWhatIsNotThere) {
  write_profile(Origin::project, "a", "extends = \"pytorhc\"");
  write_profile(Origin::project, "unsloth", "extends = \"unsloth\"");

  EXPECT_EQ(error_of("a"), "profile.unknown");
  EXPECT_NE(message_.find("which " + (project_ / "profiles/a.toml").string() + " extends"),
            std::string::npos)
      << message_;
  EXPECT_EQ(error_of("unsloth"), "");
}

TEST_F(StoreTest, FaultsNameTheFileOfTheChainThatHasThem) {
  write_profile(Origin::user, "below", "image = 1");
  write_profile(Origin::project, "above", "extends = \"below\"");

  EXPECT_EQ(error_of("above"), "profile.invalid");
  ASSERT_EQ(problems_.size(), 1U);
  EXPECT_EQ(problems_[0], (home_ / "config/sparkrun/profiles/below.toml").string() +
                              ":2:1: `image` must be a string, not a whole number");
}

TEST_F(StoreTest, HashIsThatOfTheFileAndChangesWithEveryFileOfTheChain) {
  write_profile(Origin::user, "alone", "image = \"a\"");
  write_profile(Origin::user, "above", "extends = \"alone\"");

  const std::string before = store().load("above").sha256;
  write_profile(Origin::user, "alone", "image = \"b\"");

  EXPECT_EQ(store().load("alone").sha256, sha256_hex("version = 1\nimage = \"b\"\n"));
  EXPECT_NE(store().load("above").sha256, before);
}

TEST_F(StoreTest, ListsAllWithOriginShadowsAndProblems) {
  write_profile(Origin::project, "unsloth", "image = \"a\"\nsummary = \"ours\"");
  write_profile(Origin::project, "broken", "image = 1");
  write_profile(Origin::user, "mine", "extends = \"pytorch\"");

  Strings listed;
  for (const ListedProfile& one : store().list()) {
    listed.push_back(fmt::format("{} {}{}{}", to_string(one.origin), one.name,
                                 one.is_shadowed ? " shadowed" : "",
                                 one.problem.empty() ? "" : " broken"));
  }

  EXPECT_EQ(listed,
            (Strings{"project broken broken", "project unsloth", "user mine", "built-in cuda",
                     "built-in pytorch", "built-in sglang", "built-in tensorrt-llm",
                     "built-in unsloth shadowed", "built-in vllm"}));
}

TEST_F(StoreTest, AFolderThatIsNoProjectHasNoProjectProfiles) {
  environment_.working_directory = home_;
  write(home_ / "profiles/x.toml", some_profile);

  EXPECT_EQ(error_of("x"), "profile.unknown");
}

TEST_F(StoreTest, AnImageGetsTheFlagsOfPytorchAndNothingElse) {
  write_profile(Origin::project, "pytorch",
                "image = \"evil/image:1\"\n[container]\nprivileged = true");

  const Profile profile = store().from_image("nvcr.io/nvidia/vllm.server:25.10");

  EXPECT_EQ(profile.name, "vllm-server");
  EXPECT_EQ(profile.origin, Origin::image);
  EXPECT_EQ(profile.image, "nvcr.io/nvidia/vllm.server:25.10");
  EXPECT_EQ(profile.container.size(), 3U);  // remove, ipc, ulimits
  EXPECT_TRUE(profile.platforms.empty());
  EXPECT_TRUE(profile.mounts.empty());
  EXPECT_TRUE(profile.fallback.empty());
  EXPECT_EQ(profile.purpose, "");
  EXPECT_THROW(static_cast<void>(store().from_image("UPPER")), Error);
}

TEST_F(StoreTest, LocksLieBesideAProjectsProfileAndElseInTheUsersFolder) {
  write(project_ / "profiles/x.toml", some_profile);
  const fs::path users = home_ / "config/sparkrun/lockfiles";
  const auto path = [&](Origin origin) {
    return store().lock_path({.name = "x", .origin = origin});
  };

  EXPECT_EQ(path(Origin::project), project_ / "lockfiles/x.lock");
  EXPECT_EQ(path(Origin::user), users / "x.lock");
  EXPECT_EQ(path(Origin::system), users / "x.lock");
  EXPECT_EQ(path(Origin::built_in), users / "x.lock");
  EXPECT_EQ(path(Origin::image), std::nullopt);
}

TEST_F(StoreTest, TheBuiltInProfilesShareTheirFlagsAndDifferInTheirImages) {
  const Profile pytorch = store().load("pytorch");
  const Profile unsloth = store().load("unsloth");

  EXPECT_EQ(pytorch.fallback, Strings{"25.*-py3"});
  EXPECT_EQ(pytorch.purpose, "training");
  EXPECT_EQ(pytorch.platforms, Strings{"linux/arm64"});
  EXPECT_EQ(pytorch.env, unsloth.env);
  EXPECT_EQ(unsloth.image, "unsloth/unsloth:dgxspark-latest");
  EXPECT_TRUE(unsloth.fallback.empty());
  EXPECT_EQ(unsloth.container.size(), pytorch.container.size());
  EXPECT_EQ(unsloth.mounts.size(), 1U);
}

TEST_F(StoreTest, TheBuiltInProfilesAreWholeAndSetWhatTritonNeeds) {
  for (const char* const name : {"pytorch", "unsloth", "vllm", "sglang", "tensorrt-llm"}) {
    const Profile profile = store().load(name);

    const std::map<std::string, std::string> env{profile.env.begin(), profile.env.end()};
    EXPECT_EQ(env.at("TRITON_PTXAS_PATH"), "/usr/local/cuda/bin/ptxas") << name;
    EXPECT_EQ(env.at("HF_XET_HIGH_PERFORMANCE"), "1") << name;
    EXPECT_FALSE(profile.summary.empty()) << name;
  }
  EXPECT_EQ(store().load("cuda").purpose, "tool");
  EXPECT_EQ(store().load("sglang").purpose, "inference");
}

TEST_F(StoreTest, KnowsWhereEachValueWasWritten) {
  write_profile(Origin::project, "app", "extends = \"pytorch\"\n[container]\nipc = \"private\"");

  const LoadedProfile loaded = store().load_with_origins("app");

  EXPECT_EQ(loaded.sources,
            (Strings{(project_ / "profiles/app.toml").string(), "built-in profile pytorch"}));
  const TomlNode* const container = loaded.root.find("container");
  EXPECT_EQ(container->find("ipc")->source, 0U);
  EXPECT_EQ(container->find("remove")->source, 1U);
}

}  // namespace
}  // namespace sparkrun::profile
