// SPDX-License-Identifier: MIT
#include "plan/caller.hpp"

#include "base/text.hpp"
#include "plan/argv.hpp"
#include "plan/plan_fixture.hpp"

#include <gtest/gtest.h>

namespace sparkrun::plan {
namespace {

std::string line(const std::string& profile, const EngineTraits& engine = {}, unsigned uid = 1000) {
  PlanFacts facts = made_up_facts();
  facts.caller = {.uid = uid, .gid = 100, .name = "me"};
  facts.engine = engine;
  facts.out_is_terminal = facts.in_is_usable = false;
  return shell_join(run_argv(make_plan(made_up_profile("[container]\nuser = 'caller'\n" + profile),
                                       made_up_image, {}, {}, facts)));
}

TEST(Caller, IsTheUserAndHasAHomeThatEverybodyMayWrite) {
  EXPECT_EQ(line(""),
            "docker run --user=1000:100 -e HOME=/tmp -e USER=me -e LOGNAME=me "
            "-e HF_HOME=/tmp/.cache/huggingface -e XDG_CACHE_HOME=/tmp/.cache "
            "-e TRITON_CACHE_DIR=/tmp/.cache/triton "
            "-e TORCHINDUCTOR_CACHE_DIR=/tmp/.cache/torchinductor reg.test/a@sha256:1");
}

TEST(Caller, KeepsWhatTheProfileSets) {
  const std::string words = line("[env]\nHOME = '/home/x'\nHF_HOME = '/hf'\n");

  EXPECT_NE(words.find("-e HOME=/home/x -e HF_HOME=/hf -e USER=me"), std::string::npos) << words;
  EXPECT_EQ(words.find(" HOME=/tmp"), std::string::npos) << words;
}

TEST(Caller, FindsTheMountedCacheThatItMayEnter) {
  EXPECT_NE(line("[[mount]]\nsource = '/data/hf'\ntarget = '/cache/huggingface'\n")
                .find("-e HF_HOME=/cache/huggingface"),
            std::string::npos);
  EXPECT_NE(line("[[mount]]\nsource = '/data/hf'\ntarget = '/root/.cache/huggingface'\n")
                .find("-e HF_HOME=/tmp/.cache/huggingface"),
            std::string::npos);
}

TEST(Caller, WhoIsRootNeedsNoHelp) {
  EXPECT_EQ(line("", {}, 0), "docker run --user=0:100 reg.test/a@sha256:1");
}

TEST(Caller, IsRootInsideARootlessDocker) {
  EXPECT_EQ(line("", {.is_rootless = true}), "docker run reg.test/a@sha256:1");
}

TEST(Caller, IsMappedByARootlessPodman) {
  const std::string words =
      line("", {.name = "podman", .command = {"podman"}, .is_rootless = true});

  EXPECT_TRUE(words.starts_with("podman run --userns=keep-id --user=1000:100 -e HOME=/tmp"))
      << words;
}

TEST(RunArgv, KeepsVariablesThroughSudo) {
  PlanFacts facts = made_up_facts();
  facts.engine.command = {"sudo", "-n", "docker"};
  facts.out_is_terminal = facts.in_is_usable = false;

  const RunPlan plan =
      make_plan(made_up_profile("env_from_host = ['HF_TOKEN']\n[env_from_file]\nA = '/data/a'\n"),
                made_up_image, {}, {}, facts);

  EXPECT_EQ(shell_join(run_argv(plan)),
            "sudo --preserve-env=HF_TOKEN,A -n docker run -e HF_TOKEN -e A reg.test/a@sha256:1");
}

}  // namespace
}  // namespace sparkrun::plan
