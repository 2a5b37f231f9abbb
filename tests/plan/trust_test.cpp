// SPDX-License-Identifier: MIT
#include "plan/trust.hpp"

#include "base/error.hpp"
#include "plan/plan_fixture.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace sparkrun::plan {
namespace {

using Strings = std::vector<std::string>;

PlanFacts facts() {
  PlanFacts facts = made_up_facts();
  facts.path_exists = [](const fs::path&) { return true; };
  facts.real_path = [](const fs::path& path) -> std::optional<fs::path> {
    if (path == "/work/away") return std::nullopt;  // a link to where this user may not look
    return path == "/work/link" ? fs::path{"/home/me/.ssh"} : path;
  };
  return facts;
}

Strings needs_of(const std::string& text, const RunOptions& options = {},
                 profile::Origin origin = profile::Origin::project) {
  profile::Profile profile = made_up_profile(text);
  profile.origin = origin;
  const RunPlan plan = make_plan(profile, made_up_image, {}, options, facts());
  Strings needs;
  for (const TrustNeed& need : trust_needs(plan, facts())) {
    needs.push_back(fmt::format("{} {} {}", need.name, need.where, need.value));
  }
  return needs;
}

struct Need {
  const char* words;  // of the profile, or TOML's array of extra_args
  const char* need;   // the only one; empty: there is none
};

TEST(Trust, IsNeededForKeys) {
  constexpr Need table[] = {
      {"[container]\nprivileged = true", "privileged container.privileged true"},
      {"[container]\nprivileged = false", ""},
      {"[container]\nipc = 'host'\nremove = true\nnetwork = 'host'", ""},
      {"[container]\npid = 'host'", "host-pid container.pid host"},
      {"[container]\npid = 'container:x'", "other-container container.pid container:x"},
      {"[container]\nuserns = 'host'", "host-userns container.userns host"},
      {"[container]\nuserns = 'keep-id'", ""},
      {"[container]\ncap_add = ['IPC_LOCK', 'SYS_NICE']", ""},
      {"[container]\ncap_add = ['SYS_ADMIN']", "sys-admin container.cap_add SYS_ADMIN"},
      {"[container]\ncap_add = ['cap_sys_admin']", "sys-admin container.cap_add cap_sys_admin"},
      {"[container]\ncap_add = ['all']", "sys-admin container.cap_add all"},
      {"[container]\ndevice = ['/dev/infiniband', '/dev/nvidia0', 'nvidia.com/gpu=all']", ""},
      {"[container]\ndevice = ['/dev/sda']", "raw-device container.device /dev/sda"},
      {"[container]\ndevice = ['/repo/a=b:/dev/x']",
       "raw-device container.device /repo/a=b:/dev/x"},
      {"[container]\ndevice = ['dev/sda']", "raw-device container.device dev/sda"},
      {"[container]\ndevice = ['/dev/dri/../mem:/dev/dri']",
       "raw-device container.device /dev/dri/../mem:/dev/dri"},
      {"[container]\ndevice_cgroup_rule = ['a *:* rwm']",
       "raw-device container.device_cgroup_rule a *:* rwm"},
      {"[container]\nsecurity_opt = ['no-new-privileges', 'no-new-privileges:true']", ""},
      {"[container]\nsecurity_opt = ['seccomp=unconfined']",
       "unconfined container.security_opt seccomp=unconfined"},
      {"[container]\nsecurity_opt = ['seccomp=./open.json']",
       "unconfined container.security_opt seccomp=./open.json"},
      {"[container]\nsecurity_opt = ['label=disable']",
       "unconfined container.security_opt label=disable"},
      {"[container]\nvolumes_from = ['x']", "other-container container.volumes_from x"},
      {"[container]\nuse_api_socket = true", "docker-socket container.use_api_socket true"},
      {"[container]\nenv_file = ['x.env']", "host-env container.env_file x.env"},
      {"env_from_host = ['HF_TOKEN']", "host-env env_from_host HF_TOKEN"},
      {"env_from_host = ['WANDB_API_KEY?']", "host-env env_from_host WANDB_API_KEY"},
      {"[env]\nA = '1'", ""},
  };
  for (const Need& row : table) {
    const Strings wanted = *row.need == '\0' ? Strings{} : Strings{row.need};
    EXPECT_EQ(needs_of(row.words), wanted) << row.words;
  }
}

TEST(Trust, IsNeededForSourcesOfMounts) {
  constexpr Need table[] = {
      {"./finetuning", ""},
      {"hf-cache", ""},
      {"/data", ""},
      {"~/.cache/huggingface", ""},
      {"~/models", ""},
      {"/mnt/nfs", ""},
      {"/var/tmp/x", ""},
      {"/", "host-root"},
      {"/etc", "host-root"},
      {"/etc/shadow", "host-root"},
      {"/data/../etc", "host-root"},
      {"/var/lib/docker", "host-root"},
      {"/proc", "host-root"},
      {"/var/run/docker.sock", "docker-socket"},
      {"/run/docker.sock", "docker-socket"},
      {"/var/run", "docker-socket"},
      {"/run", "docker-socket"},
      {"/run/user/1000/podman/podman.sock", "docker-socket"},
      {"~", "home"},
      {"/home", "home"},
      {"/home/someone", "home"},
      {"../home/me/", "home"},
      {"~/.ssh", "credentials"},
      {"~/.ssh/id_ed25519", "credentials"},
      {"~/.config", "credentials"},
      {"~/.docker/config.json", "credentials"},
      {"./link", "credentials"},
      {"./away", "host-root"},
      {"~/.bashrc", "startup-files"},
      {"~/.config/systemd/user", "startup-files"},
      {"/home/other/data", "home"},
      {"/tmp/tmux-1000", "credentials"},
      {"/tmp/x", ""},
      {"/tmp", "credentials"},
  };
  for (const Need& row : table) {
    const auto needs =
        needs_of(fmt::format("[[mount]]\nsource = '{}'\ntarget = '/x'\n", row.words));
    ASSERT_EQ(needs.size(), *row.need == '\0' ? 0U : 1U) << row.words;
    for (const std::string& need : needs) {
      EXPECT_TRUE(need.starts_with(std::string{row.need} + " mount /")) << need;
    }
  }
}

TEST(Trust, IsNeededForExtraArgsInEverySpelling) {
  constexpr Need table[] = {
      {"['--privileged']", "privileged container.extra_args true"},
      {"['--privileged=true']", "privileged container.extra_args true"},
      {"['--privileged=false']", ""},
      {"['-v', '/:/host']", "host-root container.extra_args /"},
      {"['-v/:/host']", "host-root container.extra_args /"},
      {"['--volume=/:/host:ro']", "host-root container.extra_args /"},
      {"['-iv', '/:/host']", "host-root container.extra_args /"},
      {"['-v', 'cache:/x', '-v', '/anonymous', '-v', '/data:/data']", ""},
      {"['-v', '../link:/x']", "credentials container.extra_args ../link"},
      {"['--mount', 'type=bind,source=/,target=/host']", "host-root container.extra_args /"},
      {"['--mount=type=bind,\"src=/etc\",dst=/host']", "host-root container.extra_args /etc"},
      {"['--mount=type=volume,dst=/x,volume-opt=type=none,volume-opt=o=bind,volume-opt=device=/']",
       "unknown-option container.extra_args "
       "type=volume,dst=/x,volume-opt=type=none,volume-opt=o=bind,volume-opt=device=/"},
      {"['--mount=type=bind,SRC=/,dst=/h']", "host-root container.extra_args /"},
      {"['--mount=TYPE=bind,Source=/etc,dst=/h']", "host-root container.extra_args /etc"},
      {"['--mount=type=glob,src=/et*,dst=/h']",
       "unknown-option container.extra_args type=glob,src=/et*,dst=/h"},
      {"['--mount=type=bind,\"src=/etc/a\"\"b\",dst=/h']",
       "host-root container.extra_args /etc/a\"b"},
      {"['--mount=type=bind,\"src=/data/a,b\",dst=/h']", ""},
      {"['--network=container:x']", "other-container container.extra_args container:x"},
      {"['--pid=ns:/proc/1/ns/pid']", "other-container container.extra_args ns:/proc/1/ns/pid"},
      {"['--ipc=host', '--network=host']", ""},
      {"['--link=db']", "other-container container.extra_args db"},
      {"['--cap-add=NET_RAW,sys_admin']", "sys-admin container.extra_args NET_RAW,sys_admin"},
      {"['--cap-add=cap_sys_admin']", "sys-admin container.extra_args cap_sys_admin"},
      {"['--device=nvidia.com/gpu=0', '--device=/dev/infiniband:/dev/infiniband']", ""},
      {"['--device=home/u/co/a=b/d:/dev/x']",
       "raw-device container.extra_args home/u/co/a=b/d:/dev/x"},
      {"['--device=/dev/shm/sda']", "raw-device container.extra_args /dev/shm/sda"},
      {"['--device=/dev/null,/dev/sda']", "raw-device container.extra_args /dev/null,/dev/sda"},
      {"['--runtime=./evil']", "unknown-option container.extra_args ./evil"},
      {"['--log-opt', 'path=/home/me/.bashrc']",
       "unknown-option container.extra_args path=/home/me/.bashrc"},
      {"['--log-opt', 'max-size=1m']", ""},
      {"['--log-opt', 'PATH=/x']", "unknown-option container.extra_args PATH=/x"},
      {"['--annotation=a=b']", "unknown-option container.extra_args a=b"},
      {"['--network=name=container:db']", "other-container container.extra_args name=container:db"},
      {"['-v', '/data:/x:z,U']", "unknown-option container.extra_args U"},
      {"['--label-file=/etc/shadow']", "host-env container.extra_args /etc/shadow"},
      {"['--mount=type=bind,src=/tmp/x,dst=/x,bind-propagation=shared']", ""},
      {"['--pid', 'host']", "host-pid container.extra_args host"},
      {"['--pid=host']", "host-pid container.extra_args host"},
      {"['--userns=host']", "host-userns container.extra_args host"},
      {"['--cap-add=ALL']", "sys-admin container.extra_args ALL"},
      {"['--device', '/dev/mem']", "raw-device container.extra_args /dev/mem"},
      {"['--security-opt', 'seccomp=unconfined']",
       "unconfined container.extra_args seccomp=unconfined"},
      {"['-e', 'HF_TOKEN']", "host-env container.extra_args HF_TOKEN"},
      {"['-eHF_TOKEN']", "host-env container.extra_args HF_TOKEN"},
      {"['--env=HF_TOKEN']", "host-env container.extra_args HF_TOKEN"},
      {"['-e', 'A=1']", ""},
      {"['--env-file=x']", "host-env container.extra_args x"},
      {"['--some-future-flag=1']", "unknown-option container.extra_args --some-future-flag"},
      {"['--gpus', 'all', '--runtime=nvidia', '--init']", ""},
  };
  for (const Need& row : table) {
    const Strings wanted = *row.need == '\0' ? Strings{} : Strings{row.need};
    EXPECT_EQ(needs_of(fmt::format("[container]\nextra_args = {}", row.words)), wanted)
        << row.words;
  }
}

TEST(Trust, IsNeededForAVariableInTheNameOfAFolder) {
  EXPECT_EQ(needs_of("[[mount]]\nsource = './${RUN}'\ntarget = '/x'\ncreate = true"),
            Strings{"host-env mount RUN"});
  EXPECT_EQ(needs_of("[[mount]]\nsource = '${SCRATCH}/x'\ntarget = '/x'\ncreate = true"),
            Strings{});
}

TEST(Trust, IsNeededForFilesThatHoldValues) {
  EXPECT_EQ(needs_of("[env_from_file]\nA = '/data/a'"),
            Strings{"host-env env_from_file A=/data/a"});
}

// /work/link leads to /home/me/.ssh, and the command is given in /work/src.
TEST(Trust, IsNeededWhereALinkOfTheCheckoutLeadsATrustedProfileOutOfIt) {
  constexpr Need table[] = {
      {"[[mount]]\nsource = './link'\ntarget = '/x'", "credentials mount /work/link"},
      {"[[mount]]\nsource = './away'\ntarget = '/x'", "host-root mount /work/away"},
      {"[[mount]]\nsource = './own'\ntarget = '/x'\ncreate = true", ""},
      {"[[mount]]\nsource = '/work/link'\ntarget = '/x'", ""},
      {"[[mount]]\nsource = 'link'\ntarget = '/x'", ""},  // a volume
      {"[env_from_file]\nA = './link'", "credentials env_from_file /work/link"},
      {"[env_from_file]\nA = 'link'", "credentials env_from_file /work/link"},
      {"[env_from_file]\nA = 'own'\nB = '~/.ssh'", ""},
      {"[container]\nenv_file = ['own', 'link']", "credentials container.env_file /work/link"},
      {"[container]\nenv_file = ['/etc/job.env']", ""},
      {"[container]\nlabel_file = ['../link']", "credentials container.label_file ../link"},
      {"[container]\nlabel_file = ['/home/me/.ssh']", ""},
      {"[container]\nextra_args = ['-v', '../link:/x']",
       "credentials container.extra_args ../link"},
      {"[container]\nextra_args = ['--volume=../link/.:/x:ro']",
       "credentials container.extra_args ../link/."},
      {"[container]\nextra_args = ['-v', '../own:/x', '-v', '/home/me/.ssh:/y', '-v', 'v:/z']", ""},
      {"[container]\nextra_args = ['--mount', 'type=bind,src=../link,dst=/x']",
       "credentials container.extra_args ../link"},
      {"[container]\nextra_args = ['--mount=type=volume,src=link,dst=/x']", ""},
      {"[container]\nextra_args = ['--env-file', '../link']",
       "credentials container.extra_args ../link"},
      {"[container]\nextra_args = ['--label-file=../link']",
       "credentials container.extra_args ../link"},
  };
  for (const Need& row : table) {
    const Strings wanted = *row.need == '\0' ? Strings{} : Strings{row.need};
    for (const auto origin : {profile::Origin::built_in, profile::Origin::user}) {
      EXPECT_EQ(needs_of(row.words, {}, origin), wanted) << row.words;
    }
  }
}

TEST(Trust, ALinkThatTheCallerMountsOverIsNotAskedAbout) {
  EXPECT_EQ(needs_of("[[mount]]\nsource = './link'\ntarget = '/x'",
                     {.mounts = {{.source = "/data", .target = "/x"}}}, profile::Origin::user),
            Strings{});
}

TEST(Trust, IsNotNeededOutsideAProjectOrForTheCallersOwnOptions) {
  const std::string greedy = "env_from_host = ['HF_TOKEN']\n[container]\nprivileged = true";
  RunPlan plan = make_plan(made_up_profile(greedy), made_up_image, {}, {}, facts());
  EXPECT_EQ(trust_needs(plan, facts()).size(), 2U);
  for (const auto origin : {profile::Origin::user, profile::Origin::system,
                            profile::Origin::built_in, profile::Origin::image}) {
    plan.profile.origin = origin;
    EXPECT_TRUE(trust_needs(plan, facts()).empty());
  }

  EXPECT_EQ(needs_of("", {.container = {{.option = profile::find_by_key("privileged")}},
                          .mounts = {{.source = "/", .target = "/host"}},
                          .env_from_host = {{.name = "HF_TOKEN"}}}),
            Strings{});
}

TEST(Trust, AHomeOrCheckoutBelowASystemFolderIsStillOnesOwn) {
  PlanFacts agent = facts();
  agent.home = "/var/lib/agent";
  agent.project_root = "/usr/src/checkout";
  const RunPlan plan =
      make_plan(made_up_profile("[[mount]]\nsource='./x'\ntarget='/x'\n[[mount]]\nsource='~/y'\n"
                                "target='/y'"),
                made_up_image, {}, {}, agent);

  EXPECT_TRUE(trust_needs(plan, agent).empty());
}

TEST(Trust, IsGivenByNameOrForOneValue) {
  const std::vector<TrustNeed> needs = {{"host-env", "env_from_host", "HF_TOKEN"},
                                        {"host-env", "env_from_host", "NGC_API_KEY"},
                                        {"privileged", "container.privileged", "true"}};

  EXPECT_NO_THROW(require_trust(needs, {"host-env", "privileged"}));
  EXPECT_NO_THROW(require_trust({}, {}));
  try {
    require_trust(needs, {"host-env:HF_TOKEN"});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.id(), "trust.not_allowed");
    EXPECT_EQ(error.problems(), (Strings{"host-env: env_from_host asks for `NGC_API_KEY`",
                                         "privileged: container.privileged asks for `true`"}));
    EXPECT_NE(error.hint().find("`--allow host-env --allow privileged`"), std::string::npos)
        << error.hint();
  }
}

TEST(Trust, EveryRiskOfTheOptionsHasANameInTheList) {
  for (const profile::Option& option : profile::options()) {
    EXPECT_TRUE(option.risk.empty() || is_trust_name(option.risk)) << option.flag;
  }
  EXPECT_FALSE(is_trust_name("everything"));
}

}  // namespace
}  // namespace sparkrun::plan
