// SPDX-License-Identifier: MIT
#include "profile/reader.hpp"

#include "support/error_of.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace sparkrun::profile {
namespace {

using Strings = std::vector<std::string>;

constexpr std::string_view head = "version = 1\nimage = \"a/b:1\"\n";

Strings problems_of(std::string_view text) {
  const Error error = test::error_of([&] { read_profile(text, "p.toml"); });
  EXPECT_EQ(error.id(), error.problems().empty() ? "bug" : "profile.invalid");
  return error.problems();
}

TEST(ProfileReader, ReadsEveryKey) {
  const Profile profile = read_profile(R"(
version = 1
summary = "Unsloth fine-tuning"
purpose = "training"
image = "unsloth/unsloth:dgxspark-latest"
fallback = ["25.*-py3"]
platforms = ["linux/aarch64", "linux/amd64"]
engine = "docker"
command = ["bash", "-lc", "echo 1\necho 2"]
env_from_host = ["HF_TOKEN", "WANDB_API_KEY?"]

[gpu]
access = "cdi"
devices = "device=0"

[container]
publish = ["8000:8000", "8001:8001"]
ipc = "host"
remove = true
init = false
pids_limit = 512
cpus = 1.5
shm_size = "16g"
memory_swap = "-1"
entrypoint = ""
extra_args = ["--mount=type=bind,source=/tmp/x,target=/x,bind-propagation=shared"]

[container.ulimits]
memlock = -1
nofile = "1024:2048"

[[mount]]
source = "./finetuning"
target = "/workspace/finetuning"
create = true

[[mount]]
source = "hf-cache"
target = "/cache"
read_only = true

[env]
ZED = "1"
ALPHA = "two words"

[preflight]
min_available_gib = 20
packages = { transformers = "==5.13.1" }
)",
                                       "p.toml");

  EXPECT_EQ(profile.summary, "Unsloth fine-tuning");
  EXPECT_EQ(profile.purpose, "training");
  EXPECT_EQ(profile.image, "unsloth/unsloth:dgxspark-latest");
  EXPECT_EQ(profile.fallback, Strings{"25.*-py3"});
  EXPECT_EQ(profile.platforms, (Strings{"linux/arm64", "linux/amd64"}));
  EXPECT_EQ(profile.engine, "docker");
  EXPECT_EQ(profile.command, (Strings{"bash", "-lc", "echo 1\necho 2"}));
  ASSERT_EQ(profile.env_from_host.size(), 2U);
  EXPECT_EQ(profile.env_from_host[0].name, "HF_TOKEN");
  EXPECT_TRUE(profile.env_from_host[0].is_required);
  EXPECT_EQ(profile.env_from_host[1].name, "WANDB_API_KEY");
  EXPECT_FALSE(profile.env_from_host[1].is_required);
  EXPECT_EQ(profile.gpu.access, GpuAccess::cdi);
  EXPECT_EQ(profile.gpu.devices, "device=0");
  ASSERT_EQ(profile.mounts.size(), 2U);
  EXPECT_TRUE(profile.mounts[0].create);
  EXPECT_TRUE(profile.mounts[1].read_only);
  EXPECT_EQ(profile.env, (std::vector<std::pair<std::string, std::string>>{
                             {"ZED", "1"}, {"ALPHA", "two words"}}));
  EXPECT_EQ(profile.preflight.min_available_gib, 20);
  EXPECT_EQ(profile.preflight.packages.at("transformers"), "==5.13.1");

  Strings container;
  for (const OptionValue& value : profile.container) {
    container.push_back(fmt::format("{}: {}", value.option->flag, fmt::join(value.values, " ")));
  }
  EXPECT_EQ(container,
            (Strings{"--rm: ", "--ipc: host", "--shm-size: 16g",
                     "--ulimit: memlock=-1 nofile=1024:2048", "--publish: 8000:8000 8001:8001",
                     "--entrypoint: ", "--memory-swap: -1", "--cpus: 1.5", "--pids-limit: 512"}));
}

TEST(ProfileReader, AbsentKeysGiveNoFlags) {
  const Profile profile = read_profile(head, "p.toml");

  EXPECT_TRUE(profile.container.empty());
  EXPECT_TRUE(profile.mounts.empty());
  EXPECT_EQ(profile.purpose, "");
  EXPECT_EQ(profile.gpu.access, GpuAccess::automatic);
  EXPECT_EQ(profile.gpu.devices, "all");
  EXPECT_EQ(profile.platforms, Strings{"linux/arm64"});
}

struct Fault {
  const char* text;  // after the two lines of `head`
  const char* problem;
};

TEST(ProfileReader, SaysWhereAndWhatIsWrong) {
  constexpr Fault table[] = {
      {"imgae = \"x\"", "p.toml:3:1: unknown key `imgae` (did you mean `image`?)"},
      {"ipc = \"host\"", "p.toml:3:1: unknown key `ipc` (did you mean `ipc` in [container]?)"},
      {"mounts = []", "p.toml:3:1: unknown key `mounts` (mounts are written [[mount]])"},
      {"[container]\nrm = true", "p.toml:4:1: unknown key `container.rm` (did you mean `remove`?)"},
      {"[container]\nshm-size = \"1g\"",
       "p.toml:4:1: unknown key `container.shm-size` (did you mean `shm_size`?)"},
      {"[container]\ngpus = \"all\"", "p.toml:4:1: unknown key `container.gpus` (see [gpu])"},
      {"[container]\nvolume = []",
       "p.toml:4:1: unknown key `container.volume` (mounts are written [[mount]])"},
      {"[container]\nenv = []",
       "p.toml:4:1: unknown key `container.env` (see [env] and `env_from_host`)"},
      {"[container]\ntty = true",
       "p.toml:4:1: unknown key `container.tty` (`--tty` is decided by each `sparkrun run`)"},
      {"[container]\nruntime = \"kata\"",
       "p.toml:1:1: `container.runtime` and `gpu.access = \"auto\"` both choose a runtime; with a "
       "runtime of your own write access = \"none\", \"gpus\" or \"cdi\""},
      {"[[mount]]\nsource = \"/a\"\ntarget = \"/b\"\noptions = [\"ro\"]",
       "p.toml:6:1: `ro` in `mount.options` is written `read_only = true`"},
      {"[[mount]]\nsource = \"/a\"\ntarget = \"/b\"\noptions = [\"z,U\"]",
       "p.toml:6:1: `z,U` cannot be one of `mount.options`; they are words such as `z` or "
       "`rshared`"},
      {"[container.ulimits]\nmemlock = \"maxx\"",
       "p.toml:4:1: `container.ulimits.memlock` must be a number or SOFT:HARD, not `maxx`"},
      {"[container.ulimits]\nnofile = \"max\"",
       "p.toml:4:1: `container.ulimits.nofile` must be a number or SOFT:HARD, not `max`"},
      {"[env_from_file]\nA = \"\"",
       "p.toml:4:1: `env_from_file.A` is empty; name the file that holds the value"},
      {"[env_from_file]\n\"A-B\" = \"f\"", "p.toml:4:1: `A-B` is not the name of a variable"},
      {"[env_from_file]\nA = \"f\"\n[env]\nA = \"1\"",
       "p.toml:1:1: `A` is in [env] and in [env_from_file]"},
      {"env_from_host = [\"A\"]\n[env_from_file]\nA = \"f\"",
       "p.toml:1:1: `A` is in [env_from_file] and in `env_from_host`"},
      {"[container]\nipc = {}", "p.toml:4:1: `container.ipc` must be a string, not a table"},
      {"[container]\nipc = true",
       "p.toml:4:1: `container.ipc` must be a string, not true or false"},
      {"[container]\nipc = \"\"",
       "p.toml:4:1: `container.ipc` is empty; leave it out for the engine's default"},
      {"[container]\nremove = \"yes\"",
       "p.toml:4:1: `container.remove` must be true or false, not a string"},
      {"[container]\ncap_add = \"X\"",
       "p.toml:4:1: `container.cap_add` must be an array, not a string"},
      {"[container]\ncap_add = [1]",
       "p.toml:4:12: each of `container.cap_add` must be a string, not a whole number"},
      {"[container]\nshm_size = 16",
       "p.toml:4:1: `container.shm_size` must be a string such as \"16g\", not a whole number"},
      {"[container]\nshm_size = \"big\"",
       "p.toml:4:1: `container.shm_size` must be a size such as 16g, not `big`"},
      {"[container]\ncpus = inf", "p.toml:4:1: `container.cpus` must be a number, not `inf`"},
      {"[container]\npids_limit = true",
       "p.toml:4:1: `container.pids_limit` must be a number, not true or false"},
      {"[container]\nulimits = [\"memlock=-1\"]",
       "p.toml:4:1: `container.ulimits` must be a table, not an array"},
      {"[container.ulimits]\nmemlock = 1.5",
       "p.toml:4:1: `container.ulimits.memlock` must be a string or a whole number, not a number "
       "with a fraction"},
      {"[container.ulimits]\n\"a=b\" = 1",
       "p.toml:4:1: `a=b` cannot be a name in `container.ulimits`"},
      {"[container]\nhostname = \"a\\u001bb\"",
       "p.toml:4:1: `container.hostname` contains a control character"},
      {"command = [\"a\\u0000b\"]",
       "p.toml:3:12: each of `command` contains a NUL, which no command line can carry"},
      {"purpose = \"trainig\"",
       "p.toml:3:1: `purpose` must be one of training, inference, tool, not `trainig` (did you "
       "mean `training`?)"},
      {"engine = \"rkt\"", "p.toml:3:1: `engine` must be one of docker, podman, not `rkt`"},
      {"extends = \"../x\"", "p.toml:3:1: `../x` is not a profile name"},
      {"platforms = []", "p.toml:3:1: `platforms` is empty; leave it out for linux/arm64"},
      {"platforms = [\"arm64\"]", "p.toml:3:1: `arm64` is not a platform"},
      {"fallback = [\"a b\"]",
       "p.toml:3:1: `a b` is not a tag, also not with * and ? as in a shell"},
      {"env_from_host = [\"A B\"]",
       "p.toml:3:1: `A B` in `env_from_host` is not the name of a variable"},
      {"env_from_host = [\"A=b\"]",
       "p.toml:3:1: `A=b` in `env_from_host` is not the name of a variable; values go to [env]"},
      {"[gpu]\naccess = \"nvidia\"",
       "p.toml:4:1: `gpu.access` must be one of auto, runtime+gpus, runtime, gpus, cdi, none, not "
       "`nvidia`"},
      {"[gpu]\ndevices = \"\"",
       "p.toml:1:1: `gpu.devices` is empty; write \"all\", or `access = \"none\"` for no GPU"},
      {"[[mount]]\ntarget = \"/x\"", "p.toml:3:1: this [[mount]] lacks `source`"},
      {"[[mount]]\nsource = \"./x\"\ntarget = \"x\"",
       "p.toml:5:1: `mount.target` must be absolute, not `x`"},
      {"[[mount]]\nsource = \"\"\ntarget = \"/x\"", "p.toml:4:1: `mount.source` is empty"},
      {"[[mount]]\nsource = \"data\"\ntarget = \"/x\"\ncreate = true",
       "p.toml:4:1: `data` is the name of a volume, which the engine creates; write `./data` for a "
       "folder"},
      {"[[mount]]\nsource = \"./x\"\ntarget = \"/x\"\nreadonly = true",
       "p.toml:6:1: unknown key `mount.readonly` (did you mean `read_only`?)"},
      {"[mount]\nsource = \"./x\"", "p.toml:3:2: mounts are written [[mount]], not as a table"},
      {"[env]\nA = 1", "p.toml:4:1: `env.A` must be a string, not a whole number"},
      {"[env]\n\"A B\" = \"1\"", "p.toml:4:1: `A B` is not the name of a variable"},
      {"[env]\n\"A\\u001bB\" = \"1\"", "p.toml:4:1: `A?B` is not the name of a variable"},
      {"env_from_host = [\"A\"]\n[env]\nA = \"1\"",
       "p.toml:1:1: `A` is in [env] and in `env_from_host`"},
      {"[preflight]\nmin_available_gib = -1",
       "p.toml:4:1: `preflight.min_available_gib` is negative"},
      {"[preflight]\npackages = { torch = \"2.9\" }",
       "p.toml:4:14: `preflight.packages.torch` must be a version with its comparison, such as "
       "\"==2.9\""},
  };
  for (const Fault& fault : table) {
    EXPECT_EQ(problems_of(std::string{head} + fault.text), Strings{fault.problem}) << fault.text;
  }
}

TEST(ProfileReader, CollectsAllFaultsInTheOrderOfTheFile) {
  const Strings problems =
      problems_of("image = \"UPPER\"\npurpose = 1\n[env]\nA = 2\n[containr]\nipc = 3\n");

  ASSERT_EQ(problems.size(), 5U);
  EXPECT_EQ(problems[0].substr(0, 11), "p.toml:1:1:");
  EXPECT_EQ(problems[2].substr(0, 11), "p.toml:2:1:");
  EXPECT_EQ(problems[3].substr(0, 11), "p.toml:4:1:");
  EXPECT_EQ(problems[4], "p.toml:5:2: unknown key `containr` (did you mean `container`?)");
}

TEST(ProfileReader, WantsAVersion) {
  EXPECT_EQ(problems_of("image = \"a\""), Strings{"p.toml:1:1: `version = 1` is missing"});
  EXPECT_EQ(problems_of("version = \"1\"\nimage = \"a\""),
            Strings{"p.toml:1:1: `version` must be a whole number, not a string"});
  EXPECT_EQ(problems_of("version = 0\nimage = \"a\""),
            Strings{"p.toml:1:1: there is no version 0"});
}

TEST(ProfileReader, LeavesANewerFormatAloneWhateverElseItHolds) {
  try {
    read_profile("image = 1\nversion = 2\nfuture = true\n", "p.toml");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.id(), "profile.newer");
    EXPECT_STREQ(error.what(), "p.toml:2:1: the profile has version 2, this sparkrun reads 1");
  }
}

TEST(ProfileReader, WantsAnImageInTheWholeOnly) {
  EXPECT_EQ(problems_of("version = 1\n"),
            Strings{"p.toml:1:1: there is no `image`, neither here nor in what this extends"});
  EXPECT_NO_THROW(parse_profile("version = 1\n", "p.toml"));
}

TEST(ProfileReader, PointsAtConflictMarkers) {
  EXPECT_EQ(
      problems_of(
          "version = 1\n<<<<<<< HEAD\nimage = \"a\"\n=======\nimage = \"b\"\n>>>>>>> other\n"),
      Strings{"p.toml:2:1: git's conflict marker; take one of the two sides"});
}

TEST(ProfileReader, PointsAtWhatIsNotToml) {
  const Strings problems = problems_of("version = 1\nimage = \n");

  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(problems[0].substr(0, 9), "p.toml:2:");
}

TEST(ProfileReader, RefusesSecretsWhereverTheyStand) {
  const std::string secret = "hf_" + std::string("abcdefghij0123456789abcdefghij0123");
  const Strings texts = {
      fmt::format("[env]\nX = \"{}\"", secret),
      "[env]\nWANDB_API_KEY = \"0123456789abcdef0123\"",
      fmt::format("command = [\"--token={}\"]", secret),
      fmt::format("[container]\nextra_args = [\"-e\", \"HF={}\"]", secret),
      "[container]\nextra_args = [\"-eMY_KEY=0123456789abcdef0123\"]",
      fmt::format("[container.labels]\nx = \"{}\"", secret),
  };
  for (const std::string& text : texts) {
    const Strings problems = problems_of(std::string{head} + text);
    ASSERT_EQ(problems.size(), 1U) << text;
    EXPECT_NE(problems[0].find("env_from_host"), std::string::npos) << problems[0];
    EXPECT_EQ(problems[0].find(secret), std::string::npos) << "the message repeats the secret";
  }
}

TEST(ProfileReader, LetsOnlyOptionsIntoExtraArgs) {
  const auto problem = [](const char* words) {
    const Strings problems =
        problems_of(fmt::format("{}[container]\nextra_args = {}", head, words));
    return problems.size() == 1 ? problems[0] : fmt::format("{} problems", problems.size());
  };

  EXPECT_EQ(problem(R"(["--gpus", "all"])"), "0 problems");
  EXPECT_EQ(problem(R"(["--new-flag=x", "--other-new-flag"])"), "0 problems");
  EXPECT_NE(problem(R"(["--rm", "evil/image", "sh"])").find("`evil/image` is no option"),
            std::string::npos);
  EXPECT_NE(problem(R"(["--new-flag", "x"])").find("`x` is no option"), std::string::npos);
  EXPECT_NE(problem(R"(["--rm", "--"])").find("`--` is no option"), std::string::npos);
  EXPECT_NE(problem(R"(["--pid"])").find("lacks its value"), std::string::npos);
  EXPECT_NE(problem(R"(["-d"])").find("`-d`: write `detach` in [container]"), std::string::npos);
  EXPECT_NE(problem(R"(["--name=x"])").find("`--name`: write `name` in [container]"),
            std::string::npos);
}

TEST(ProfileReader, MergesTablesAndReplacesTheRest) {
  const TomlNode base = parse_profile(R"(
version = 1
image = "a/base:1"
command = ["base", "x"]
[container]
ipc = "host"
remove = true
[container.ulimits]
memlock = -1
stack = 1
[env]
A = "base"
B = "base"
[[mount]]
source = "./base"
target = "/base"
)",
                                      "base.toml");
  const TomlNode over = parse_profile(R"(
version = 1
command = ["over"]
[container]
remove = false
[container.ulimits]
stack = 2
[env]
C = "over"
A = "over"
[[mount]]
source = "./over"
target = "/over"
)",
                                      "over.toml");

  const Profile profile = build_profile(merge_profiles(base, over), "over.toml");

  EXPECT_EQ(profile.image, "a/base:1");
  EXPECT_EQ(profile.command, Strings{"over"});
  ASSERT_EQ(profile.container.size(), 2U);
  EXPECT_EQ(profile.container[0].option->key, "ipc");
  EXPECT_EQ(profile.container[1].values, (Strings{"memlock=-1", "stack=2"}));
  EXPECT_EQ(profile.env, (std::vector<std::pair<std::string, std::string>>{
                             {"A", "over"}, {"B", "base"}, {"C", "over"}}));
  ASSERT_EQ(profile.mounts.size(), 1U);
  EXPECT_EQ(profile.mounts[0].target, "/over");
}

}  // namespace
}  // namespace sparkrun::profile
