// SPDX-License-Identifier: MIT
#include "plan/lints.hpp"

#include "plan/plan_fixture.hpp"

#include <gtest/gtest.h>

namespace sparkrun::plan {
namespace {

using profile::GpuAccess;

struct Row {
  const char* profile;
  const char* begins;  // of the only warning; empty: there is none
};

TEST(Lints, SayWhatDoesNotDoWhatItSeemsTo) {
  constexpr Row table[] = {
      {"[container]\nipc = 'host'\nremove = true", ""},
      {"[container]\nshm_size = '16g'", ""},
      {"[container]\nipc = 'host'\nshm_size = '16g'", "shm_size has no effect"},
      {"[container]\nnetwork = 'host'\npublish = ['1:1']", "publish has no effect"},
      {"[container]\nnetwork = 'host'\npublish_all = true", "publish has no effect"},
      {"[container]\nnetwork = 'bridge'\npublish = ['1:1']", ""},
      {"[container]\nrestart = 'always'\nremove = true", "docker refuses `restart`"},
      {"[container]\nrestart = 'no'\nremove = true", ""},
      {"[env]\nHF_HUB_ENABLE_HF_TRANSFER = '1'", "HF_HUB_ENABLE_HF_TRANSFER is deprecated"},
      {"[container]\nipc = 'host'\nextra_args = ['--ipc=host']", "--ipc is given twice"},
      {"[container]\nextra_args = ['--init', '--init']", "--init is given twice"},
      {"[container]\nextra_args = ['--label=a', '--label=b']", ""},
      {"[env]\nWORLD_SIZE = '2'", "WORLD_SIZE=2 means several nodes"},
      {"[env]\nWORLD_SIZE = '1'", ""},
      {"[env]\nWORLD_SIZE = '2'\n[container]\ndevice = ['/dev/infiniband']", ""},
      {"[env]\nWORLD_SIZE = '2'\n[container]\nextra_args = ['--device=/dev/infiniband']", ""},
      {"[env]\nWORLD_SIZE = '2'\n[container]\nprivileged = true", ""},
      {"command = ['torchrun', '--nnodes=1:4', 'a']", "--nnodes 1:4 means several nodes"},
      {"command = ['vllm', 'serve', '--nnodes', '2']", "--nnodes 2 means several nodes"},
      {"command = ['vllm', 'serve', '--nnodes']", ""},
      {"purpose = 'training'\n[container]\nremove = true", "remove = true and no writable mount"},
      {"purpose = 'training'\n[container]\nremove = true\n[[mount]]\nsource = '/data'\ntarget = "
       "'/d'\nread_only = true",
       "remove = true and no writable mount"},
      {"purpose = 'training'\n[container]\nremove = true\n[[mount]]\nsource = '/data'\ntarget = "
       "'/d'",
       ""},
      {"purpose = 'inference'\n[container]\nremove = true", "no model cache is mounted"},
      {"purpose = 'inference'\n[container]\nremove = true\n[[mount]]\nsource = '/data'\ntarget = "
       "'/root/.cache/huggingface'",
       ""},
      {"purpose = 'inference'\n[container]\nremove = true\n[[mount]]\nsource = '/data'\ntarget = "
       "'/x/y'\n[env]\nHF_HOME = '/x'",
       ""},
      {"[[mount]]\nsource = '~/.cache/huggingface'\ntarget = '/root/.cache/huggingface'",
       "what the job adds to /home/me/.cache/huggingface will belong to root"},
      {"[[mount]]\nsource = '~/.cache/huggingface'\ntarget = '/cache/huggingface'\n[container]\n"
       "user = '1000'",
       ""},
      {"[[mount]]\nsource = '~/.cache/huggingface'\ntarget = '/hf'\nread_only = true", ""},
      {"command = ['bash', '-c', 'pip install -U torch==2.9 && python x']",
       "the command installs torch"},
      {"command = ['bash', '-c', 'cd /x; /usr/bin/pip3 install Flash_Attn']",
       "the command installs flash-attn"},
      {"command = ['pip', 'install', 'peft', 'torchmetrics']", ""},
      {"command = ['apt', 'install', 'torch']", ""},
      {"command = ['bash', '-c', 'pip list && install torch']", ""},
      {"command = ['python3', 'train.py', '--x']", "train.py exists here"},
      {"command = ['python3', 'absent.py']", ""},
      {"command = ['python3', '/work/src/train.py']", ""},
      {"command = ['python3', 'train.py']\n[[mount]]\nsource = '.'\ntarget = '/w'", ""},
  };
  PlanFacts facts = made_up_facts();
  facts.caller = {.uid = 1000, .gid = 1000, .name = "me"};
  facts.has_script = [](const fs::path& path) { return path == "/work/src/train.py"; };
  facts.path_exists = [](const fs::path&) { return true; };
  for (const Row& row : table) {
    const auto warnings =
        make_plan(made_up_profile(row.profile), made_up_image, {}, {}, facts).lints;

    ASSERT_EQ(warnings.size(), *row.begins == '\0' ? 0U : 1U)
        << row.profile << "\n"
        << (warnings.empty() ? "" : warnings.front());
    for (const auto& warning : warnings) EXPECT_TRUE(warning.starts_with(row.begins)) << warning;
  }
}

TEST(Lints, WarnOfAMovingTagUnlessALockPinsIt) {
  for (const char* const image :
       {"a/b", "a/b:latest", "a/b:1",
        "a/b@sha256:"
        "0000000000000000000000000000000000000000000000000000000000000000"}) {
    RunPlan plan = made_up_plan("");
    plan.profile.image = image;
    const bool is_moving =
        std::string_view{image} == "a/b" || std::string_view{image} == "a/b:latest";

    plan.image.pin = "remembered";
    EXPECT_EQ(lints(plan, made_up_facts()).size(), is_moving ? 1U : 0U) << image;
    plan.image.pin = "lock";
    EXPECT_EQ(lints(plan, made_up_facts()).size(), 0U) << image;
  }
}

TEST(Lints, WarnOfARestartThatBypassesTheChecks) {
  RunPlan plan = made_up_plan("[container]\nrestart = 'unless-stopped'");

  plan.gpu.access = GpuAccess::gpus;

  EXPECT_EQ(lints(plan, made_up_facts()).size(), 1U);
}

TEST(Lints, WarnOfTritonWithoutItsCompiler) {
  for (const char* const image : {"nvcr.io/nvidia/pytorch:25.09-py3", "vllm/vllm-openai:v1"}) {
    RunPlan plan = made_up_plan("");
    plan.profile.image = image;
    plan.gpu.access = GpuAccess::gpus;

    const auto warnings = lints(plan, made_up_facts());

    ASSERT_EQ(warnings.size(), 1U) << image;
    EXPECT_TRUE(warnings.front().starts_with("TRITON_PTXAS_PATH is not set")) << warnings.front();
    plan.env.emplace_back("TRITON_PTXAS_PATH", "/usr/local/cuda/bin/ptxas");
    EXPECT_TRUE(lints(plan, made_up_facts()).empty());
  }
}

TEST(Lints, HaveNothingToSayOfACacheThatIsRootsAnyway) {
  const char* const profile =
      "[[mount]]\nsource = '~/.cache/huggingface'\ntarget = '/root/.cache/huggingface'";

  EXPECT_TRUE(made_up_plan(profile).lints.empty());  // the caller is root
}

}  // namespace
}  // namespace sparkrun::plan
