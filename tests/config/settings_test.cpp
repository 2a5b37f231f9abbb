// SPDX-License-Identifier: MIT
#include "config/settings.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "support/temp_dir.hpp"

#include <gtest/gtest.h>

namespace sparkrun::config {
namespace {

using test::TempDir;

class SettingsTest : public testing::Test {
 protected:
  [[nodiscard]] sys::fs::path system_file() const { return folder / "etc/config.toml"; }
  [[nodiscard]] sys::fs::path user_file() const { return folder / "config/sparkrun/config.toml"; }
  void write_system(std::string_view text) const { folder.write("etc/config.toml", text); }
  void write_user(std::string_view text) const {
    folder.write("config/sparkrun/config.toml", text);
  }
  [[nodiscard]] Settings load() const { return Settings::load(environment, system_file()); }

  // The error of a load, or one that says that there was none.
  [[nodiscard]] Error load_error() const {
    try {
      (void)load();
    } catch (const Error& error) {
      return error;
    }
    return Error{"bug", "loaded without error"};
  }

  TempDir folder;
  sys::Environment environment{.variables = {{"XDG_CONFIG_HOME", (folder / "config").string()}}};
};

TEST_F(SettingsTest, AreBuiltInWithoutFiles) {
  const Settings settings = load();

  EXPECT_EQ(settings.text("audit"), "required");
  EXPECT_EQ(settings.text("engine"), "");
  EXPECT_EQ(settings.boolean("preflight"), std::optional{true});
  EXPECT_EQ(settings.boolean("offline"), std::optional{false});
  EXPECT_EQ(settings.boolean("locked"), std::nullopt);
  EXPECT_TRUE(settings.list("allow").empty());
  for (const Setting& setting : config::settings())
    EXPECT_EQ(settings.origin(setting.key), "built in") << setting.key;
}

TEST_F(SettingsTest, TakeTheLastWord) {
  write_system("audit = \"off\"\nengine = \"podman\"\nprofile = \"a\"\nlocked = true\n");
  write_user("engine = \"docker\"\nprofile = \"b\"\nlocked = false\n");
  environment.variables["SPARKRUN_PROFILE"] = "c";
  environment.variables["SPARKRUN_LOCKED"] = "1";

  Settings settings = load();
  settings.set("locked", "false", "--no-locked");

  EXPECT_EQ(settings.text("audit"), "off");
  EXPECT_EQ(settings.origin("audit"), system_file().string());
  EXPECT_EQ(settings.text("engine"), "docker");
  EXPECT_EQ(settings.origin("engine"), user_file().string());
  EXPECT_EQ(settings.text("profile"), "c");
  EXPECT_EQ(settings.origin("profile"), "SPARKRUN_PROFILE");
  EXPECT_EQ(settings.boolean("locked"), std::optional{false});
  EXPECT_EQ(settings.origin("locked"), "--no-locked");
}

TEST_F(SettingsTest, ReadLists) {
  write_user("plain_http = [\"reg.test:5000\", \"localhost\"]\n");
  environment.variables["SPARKRUN_ALLOW"] = "privileged, host-env,,";

  const Settings settings = load();

  EXPECT_EQ(settings.list("plain_http"), (std::vector<std::string>{"reg.test:5000", "localhost"}));
  EXPECT_EQ(settings.list("allow"), (std::vector<std::string>{"privileged", "host-env"}));
}

TEST_F(SettingsTest, ReadBooleansAsPeopleWriteThem) {
  for (const std::string yes : {"true", "1", "yes", "on", "TRUE"}) {
    environment.variables["SPARKRUN_OFFLINE"] = yes;
    EXPECT_EQ(load().boolean("offline"), std::optional{true}) << yes;
  }
  for (const std::string no : {"false", "0", "no", "off", "False"}) {
    environment.variables["SPARKRUN_OFFLINE"] = no;
    EXPECT_EQ(load().boolean("offline"), std::optional{false}) << no;
  }
}

TEST_F(SettingsTest, TakeAnEmptyVariableAsUnset) {
  write_user("engine = \"podman\"\nlocked = true\n");
  for (const char* const variable : {"ENGINE", "LOCKED", "PREFLIGHT", "AUDIT"}) {
    environment.variables[std::string{"SPARKRUN_"} + variable] = "";
  }

  const Settings settings = load();

  EXPECT_EQ(settings.text("engine"), "podman");
  EXPECT_EQ(settings.boolean("locked"), std::optional{true});
  EXPECT_EQ(settings.boolean("preflight"), std::optional{true});
  EXPECT_EQ(settings.text("audit"), "required");
}

TEST_F(SettingsTest, SayWhereAnUnknownKeyStands) {
  write_user("audit = \"off\"\n  enginee = \"docker\"\n");

  const Error error = load_error();

  EXPECT_EQ(error.id(), "config.invalid");
  EXPECT_EQ(error.problems(), std::vector{user_file().string() +
                                          ":2:3: unknown key `enginee` (did you mean `engine`?)"});
}

TEST_F(SettingsTest, NameEveryFaultOfAFile) {
  write_user(
      "audit = \"maybe\"\nengine = 1\nlocked = \"yes\"\nallow = \"privileged\"\nplain_http = "
      "[1]\nnonsense = 1\n");
  const std::string file = user_file().string();

  const Error error = load_error();

  EXPECT_EQ(error.id(), "config.invalid");
  EXPECT_EQ(error.details().at("path"), file);
  EXPECT_EQ(
      error.problems(),
      (std::vector<std::string>{
          file + ":1:1: `audit` must be one of required, best-effort, off, not `maybe`",
          file + ":2:1: `engine` must be a string", file + ":3:1: `locked` must be true or false",
          file + ":4:1: `allow` must be an array of strings",
          file + ":5:1: `plain_http` must be an array of strings",
          file + ":6:1: unknown key `nonsense`"}));
}

TEST_F(SettingsTest, SayWhereAFileIsNotToml) {
  write_system("audit = \n");

  const Error error = load_error();

  EXPECT_EQ(error.id(), "config.invalid");
  EXPECT_TRUE(std::string_view{error.what()}.starts_with(system_file().string() + ":1:"))
      << error.what();
}

TEST_F(SettingsTest, RefuseAVariableWithAWrongValue) {
  environment.variables["SPARKRUN_AUDIT"] = "perhaps";

  const Error error = load_error();

  EXPECT_EQ(error.id(), "config.invalid");
  EXPECT_STREQ(error.what(),
               "SPARKRUN_AUDIT: `audit` must be one of required, best-effort, off, not `perhaps`");
}

TEST_F(SettingsTest, RefuseAVariableThatIsNotTrueOrFalse) {
  environment.variables["SPARKRUN_PREFLIGHT"] = "maybe";

  EXPECT_STREQ(load_error().what(),
               "SPARKRUN_PREFLIGHT: `preflight` must be true or false, not `maybe`");
}

TEST_F(SettingsTest, DoNotReadTheProject) {
  folder.write("config.toml", "audit = \"off\"\n");
  folder.write("sparkrun/config.toml", "audit = \"off\"\n");
  environment.working_directory = folder.path();

  EXPECT_EQ(load().text("audit"), "required");
}

TEST_F(SettingsTest, AreABugWhenTheyDoNotExist) {
  Settings settings = load();

  EXPECT_THROW(settings.set("nonsense", "", ""), Error);
  EXPECT_THROW((void)settings.text("nonsense"), Error);
}

TEST(SettingTable, IsSortedAndExplained) {
  std::string_view before;
  for (const Setting& setting : settings()) {
    EXPECT_LT(before, setting.key);
    EXPECT_FALSE(setting.summary.empty()) << setting.key;
    before = setting.key;
  }
}

}  // namespace
}  // namespace sparkrun::config
