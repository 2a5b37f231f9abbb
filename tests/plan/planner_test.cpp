// SPDX-License-Identifier: MIT
#include "plan/planner.hpp"

#include "base/error.hpp"
#include "plan/paths.hpp"
#include "plan/plan_fixture.hpp"
#include "support/error_of.hpp"
#include "support/temp_dir.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace sparkrun::plan {
namespace {

using Strings = std::vector<std::string>;

std::string mount(const std::string& source, const std::string& more = "") {
  return fmt::format("[[mount]]\nsource = '{}'\ntarget = '/x{}'\n{}\n", source, source.size(),
                     more);
}

struct Thrown {
  std::string id, message, hint;
  Strings problems;
};

Thrown thrown_by(const std::string& profile, const RunOptions& options = {}) {
  try {
    made_up_plan(profile, options);
  } catch (const Error& error) {
    return {std::string{error.id()}, error.what(), error.hint(), error.problems()};
  }
  return {};
}

struct Source {
  const char* written;
  const char* planned;
};

TEST(Planner, ExpandsSourcesOfMounts) {
  constexpr Source table[] = {
      {"./finetuning", "/work/finetuning"},
      {"finetuning/", "/work/finetuning"},
      {"../data/x", "/data/x"},
      {"/data/./y/", "/data/y"},
      {"~", "/home/me"},
      {"~/.cache/huggingface", "/home/me/.cache/huggingface"},
      {"${SCRATCH}/run", "/scratch/run"},
      {"/data/${RUN}${RUN}", "/data/tt"},
      {"/data/$RUN", "/data/$RUN"},
      {"/data/a:b", "/data/a:b"},
      {"hf-cache", "hf-cache"},
      {"my.volume", "my.volume"},
  };
  for (const Source& row : table) {
    EXPECT_EQ(made_up_plan(mount(row.written)).mounts.at(0).source, row.planned) << row.written;
  }
}

TEST(Planner, KeepsSecretsOutOfPaths) {
  EXPECT_EQ(thrown_by(mount("/data/${HF_TOKEN}")).message,
            "mount `/data/${HF_TOKEN}`: `HF_TOKEN` is the name of a secret, and a path is no place "
            "for one");
}

TEST(Planner, PassesValuesOfFilesByName) {
  const RunPlan plan =
      made_up_plan("[env_from_file]\nA = '/data/a'\nB = '/data/b'\n", {.env = {{"B", "typed"}}});

  EXPECT_EQ(plan.file_variables,
            (std::vector<std::pair<std::string, std::string>>{{"A", "/data/a"}}));
  EXPECT_EQ(thrown_by("[env_from_file]\nA = 'nothing'\n").message,
            "value of `A` in `nothing`: /work/nothing does not exist");
}

TEST(Planner, LooksForNothingOnARemoteEngine) {
  PlanFacts facts = made_up_facts();
  facts.engine.is_remote = true;
  facts.engine.remote_address = "ssh://spark";

  const RunPlan plan =
      make_plan(made_up_profile(mount("./absent", "create = true")), made_up_image, {}, {}, facts);

  EXPECT_FALSE(plan.mounts.at(0).must_create);
  EXPECT_EQ(plan.warnings, Strings{"mounted from ssh://spark, where nobody looked whether it "
                                   "exists: /work/absent"});
}

TEST(Planner, MountsTheWorkingDirectoryAtItsOwnPath) {
  PlanFacts facts = made_up_facts();
  facts.path_exists = [](const fs::path&) { return true; };

  const RunPlan plan =
      make_plan(made_up_profile(""), made_up_image, {}, {.mounts_working_directory = true}, facts);

  EXPECT_EQ(plan.mounts.at(0).source, "/work/src");
  EXPECT_EQ(plan.mounts.at(0).target, "/work/src");
  EXPECT_EQ(plan.find("workdir")->values, Strings{"/work/src"});
}

TEST(Planner, MountsTheHuggingFaceCacheAndSaysWhereItIs) {
  const RunPlan plan = made_up_plan("", {.mounts_hf_cache = true});

  EXPECT_EQ(plan.mounts.at(0).source, "/home/me/.cache/huggingface");
  EXPECT_EQ(plan.mounts.at(0).target, "/cache/huggingface");
  EXPECT_EQ(plan.env,
            (std::vector<std::pair<std::string, std::string>>{{"HF_HOME", "/cache/huggingface"}}));
}

TEST(Planner, KnowsHowMuchMemoryMayBeLocked) {
  PlanFacts facts = made_up_facts();
  const auto limits = [&](const std::string& value) {
    const RunPlan plan = make_plan(made_up_profile("[container.ulimits]\nmemlock = " + value),
                                   made_up_image, {}, {}, facts);
    return plan.find("ulimits")->values.front() + (plan.warnings.empty() ? "" : " with a warning");
  };
  EXPECT_EQ(limits("'max'"), "memlock=-1");
  EXPECT_EQ(limits("-1"), "memlock=-1");

  facts.engine = {.name = "podman", .is_rootless = true, .memlock_bytes_max = 8388608};
  EXPECT_EQ(limits("'max'"), "memlock=8388608");
  EXPECT_EQ(limits("-1"), "memlock=-1 with a warning");
  EXPECT_EQ(limits("65536"), "memlock=65536");
}

TEST(Planner, RefusesFlagsThatTheOtherEngineAloneHas) {
  PlanFacts facts = made_up_facts();
  facts.engine.name = "podman";
  const auto problems = [&](const std::string& profile) {
    return test::error_of(
               [&] { make_plan(made_up_profile(profile), made_up_image, {}, {}, facts); })
        .problems();
  };
  EXPECT_EQ(problems("[container]\ndomainname = 'x'\nisolation = 'y'\n"),
            (Strings{"`container.domainname`: podman has no --domainname",
                     "`container.isolation`: podman has no --isolation"}));

  facts.engine.name = "docker";
  EXPECT_EQ(problems("[container]\ntz = 'UTC'\n"), Strings{"`container.tz`: docker has no --tz"});
}

TEST(Planner, NamesEveryMountThatIsMissing) {
  const Thrown thrown = thrown_by(mount("./a") + mount("${NOWHERE}") + mount("${EMPTY}/x") +
                                  mount("${SCRATCH") + mount("./made", "create = true"));

  EXPECT_EQ(thrown.id, "mount.missing");
  EXPECT_EQ(thrown.problems, (Strings{"mount `./a`: /work/a does not exist",
                                      "mount `${NOWHERE}`: the variable `NOWHERE` is not set",
                                      "mount `${EMPTY}/x`: the variable `EMPTY` is empty",
                                      "mount `${SCRATCH`: `${` without its `}`"}));
}

TEST(Planner, MarksWhatIsToBeCreatedAndCreatesNothing) {
  const RunPlan plan =
      made_up_plan(mount("./new", "create = true") + mount("./finetuning", "create = true"));

  EXPECT_TRUE(plan.mounts.at(0).must_create);
  EXPECT_FALSE(plan.mounts.at(1).must_create);
}

TEST(Planner, AsksTheRealFileSystemByDefault) {
  const test::TempDir folder;
  folder.make("there");
  const PlanFacts facts = {.project_root = folder.path()};

  const RunPlan plan = make_plan(
      made_up_profile("[[mount]]\nsource='./there'\ntarget='/x'\n[[mount]]\nsource='./new'\n"
                      "target='/y'\ncreate=true\n"),
      {}, {}, {}, facts);

  EXPECT_FALSE(plan.mounts.at(0).must_create);
  EXPECT_TRUE(plan.mounts.at(1).must_create);
  EXPECT_FALSE(fs::exists(folder / "new"));
}

TEST(Planner, LaterMountOnTheSameTargetWinsWithAWarning) {
  const RunPlan plan =
      made_up_plan("[[mount]]\nsource='./finetuning'\ntarget='/x'\n",
                   {.mounts = {{.source = "/data", .target = "/x/", .read_only = true}}});

  ASSERT_EQ(plan.mounts.size(), 1U);
  EXPECT_EQ(plan.mounts[0].source, "/data");
  EXPECT_TRUE(plan.mounts[0].read_only);
  EXPECT_FALSE(plan.mounts[0].is_from_profile);
  EXPECT_EQ(plan.warnings,
            Strings{"/x/ is mounted twice: /data takes the place of /work/finetuning"});
}

TEST(Planner, SourcesOfTheCommandLineStartInTheWorkingDirectory) {
  const RunPlan plan = made_up_plan("", {.mounts = {{.source = "../finetuning", .target = "/x"}}});

  EXPECT_EQ(plan.mounts.at(0).source, "/work/finetuning");
}

TEST(Planner, PassesHostVariablesByNameOnly) {
  const RunPlan plan =
      made_up_plan("env_from_host = ['HF_TOKEN', 'WANDB_API_KEY?', 'EMPTY', 'HF_TOKEN']");

  EXPECT_EQ(plan.host_variables, (Strings{"HF_TOKEN", "EMPTY"}));
  EXPECT_TRUE(plan.env.empty());
}

TEST(Planner, NamesEveryVariableThatIsMissing) {
  const Thrown one = thrown_by("env_from_host = ['NGC_API_KEY']");
  const Thrown two = thrown_by("env_from_host = ['A1', 'HF_TOKEN', 'B1']");
  const Thrown both = thrown_by("env_from_host = ['A1']\n" + mount("./gone"));

  EXPECT_EQ(one.id, "env.missing");
  EXPECT_EQ(one.message, "the variable `NGC_API_KEY` is not set");
  EXPECT_NE(one.hint.find("\"NGC_API_KEY?\""), std::string::npos) << one.hint;
  EXPECT_EQ(two.problems,
            (Strings{"the variable `A1` is not set", "the variable `B1` is not set"}));
  EXPECT_EQ(both.id, "mount.missing");
  EXPECT_EQ(both.problems.size(), 2U);
}

TEST(Planner, TheCommandLineHasTheLastWordOnVariables) {
  const RunPlan plan =
      made_up_plan("env_from_host = ['NGC_API_KEY']\n[env]\nA = '1'\nB = '2'\nHF = '3'",
                   {.env = {{"NGC_API_KEY", "given"}, {"A", "9"}, {"C", ""}},
                    .env_from_host = {{.name = "HF_TOKEN"}, {.name = "SCRATCH"}}});

  const std::vector<std::pair<std::string, std::string>> env = {
      {"A", "9"}, {"B", "2"}, {"HF", "3"}, {"NGC_API_KEY", "given"}, {"C", ""}};
  EXPECT_EQ(plan.env, env);
  EXPECT_EQ(plan.host_variables, (Strings{"HF_TOKEN", "SCRATCH"}));
}

struct Streams {
  bool usable, in, out;
  TtyMode mode;
  bool interactive, tty;
};

TEST(Planner, TerminalFlagsFollowTheStreams) {
  constexpr Streams table[] = {
      {true, true, true, TtyMode::automatic, true, true},
      {true, true, false, TtyMode::automatic, true, false},
      {true, false, true, TtyMode::automatic, true, false},
      {false, false, true, TtyMode::automatic, false, false},
      {true, false, false, TtyMode::always, true, true},
      {true, true, true, TtyMode::never, true, false},
  };
  for (const Streams& row : table) {
    PlanFacts facts = made_up_facts();
    facts.in_is_usable = row.usable;
    facts.in_is_terminal = row.in;
    facts.out_is_terminal = row.out;

    const RunPlan plan =
        make_plan(made_up_profile(""), made_up_image, {}, {.tty = row.mode}, facts);

    EXPECT_EQ(plan.interactive, row.interactive);
    EXPECT_EQ(plan.tty, row.tty);
  }
}

TEST(Planner, TheCommandOfTheCallerReplacesTheProfiles) {
  EXPECT_EQ(made_up_plan("command = ['bash', '-l']").command, (Strings{"bash", "-l"}));
  EXPECT_EQ(made_up_plan("command = ['bash', '-l']", {.command = {"python3"}}).command,
            Strings{"python3"});
}

TEST(Planner, OptionsOfTheCallerReplaceOrAdd) {
  const auto option = [](const char* key, Strings values) {
    return profile::OptionValue{.option = profile::find_by_key(key), .values = std::move(values)};
  };
  const RunPlan plan = made_up_plan(
      "[container]\nremove = true\ninit = true\nipc = 'host'\ncap_add = ['A']\nulimits = { memlock "
      "= -1, stack = 1 }",
      {.container = {option("remove", {"false"}), option("privileged", {}),
                     option("init", {"false"}), option("init", {}), option("ipc", {"private"}),
                     option("cap_add", {"B"}), option("ulimits", {"stack=2", "core=0"}),
                     option("user", {"1000"})}});

  Strings planned;
  for (const auto& value : plan.container) {
    planned.push_back(fmt::format("{}: {}", value.option->key, fmt::join(value.values, " ")));
  }
  EXPECT_EQ(planned, (Strings{"init: ", "privileged: ", "ipc: private",
                              "ulimits: memlock=-1 stack=2 core=0", "user: 1000", "cap_add: A B"}));
}

TEST(Planner, ExpandsEnvFilesLikeMounts) {
  const RunPlan plan = made_up_plan("[container]\nenv_file = ['~/x.env', '/data/y.env']");

  EXPECT_EQ(plan.container.at(0).values, (Strings{"/home/me/x.env", "/data/y.env"}));
  EXPECT_EQ(thrown_by("[container]\nenv_file = ['gone.env']").problems,
            Strings{"env file `gone.env`: /work/gone.env does not exist"});
}

TEST(Paths, LinksAreResolvedAsFarAsThePathExists) {
  const test::TempDir folder;
  folder.make("real");
  fs::create_directory_symlink(folder / "real", folder / "link");

  fs::create_symlink(folder / "real/gone", folder / "dangling");
  fs::create_symlink("loop", folder / "loop");

  EXPECT_EQ(sys::resolve_links(folder / "link/new"), folder / "real/new");
  EXPECT_EQ(sys::resolve_links(folder / "link/../real/./x"), folder / "real/x");
  EXPECT_EQ(sys::resolve_links(folder / "dangling/x"), folder / "real/gone/x");
  EXPECT_EQ(sys::resolve_links(folder / "loop"), std::nullopt);
}

}  // namespace
}  // namespace sparkrun::plan
