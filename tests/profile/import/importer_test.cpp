// SPDX-License-Identifier: MIT
#include "profile/import/importer.hpp"

#include "base/text.hpp"
#include "support/error_of.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace sparkrun::profile {
namespace {

const ImportFacts facts{.home = "/home/me",
                        .working_directory = "/work/project/sub",
                        .project_root = "/work/project",
                        .uid = 1000,
                        .gid = 1001};

using Words = std::vector<std::string>;

Imported import(const Words& options, const Words& command = {}) {
  Words words = {"docker", "run"};
  words.insert(words.end(), options.begin(), options.end());
  words.emplace_back("reg.test/img:1");
  words.insert(words.end(), command.begin(), command.end());
  return import_words(words, facts);
}

bool has_note(const Imported& imported, std::string_view text) {
  return std::ranges::any_of(imported.notes, [&](const ImportNote& note) {
    return note.text.find(text) != std::string::npos;
  });
}

Error refusal(const Words& options, const Words& command = {}) {
  return test::error_of([&] { import(options, command); });
}

TEST(Importer, WritesAProfileInTheOrderOfTheShippedOnes) {
  const Imported imported = import({"-it",
                                    "--rm",
                                    "--gpus=all",
                                    "--ipc",
                                    "host",
                                    "--ulimit",
                                    "memlock=-1",
                                    "--ulimit",
                                    "nofile=1:2",
                                    "-e",
                                    "A=x y",
                                    "-e",
                                    "HF_TOKEN=<HF_TOKEN>",
                                    "-v",
                                    "/work/project/m:/m:ro",
                                    "-v",
                                    "/home/me/.cache:/c",
                                    "-v",
                                    "named:/n",
                                    "-p",
                                    "8000:8000"},
                                   {"vllm", "serve", "m"});

  EXPECT_EQ(imported.toml, R"(# Imported from a docker run line.
version = 1
purpose = "inference"
image = "reg.test/img:1"
command = ["vllm", "serve", "m"]
env_from_host = ["HF_TOKEN"]

[gpu]
access = "gpus"
devices = "all"

[container]
remove = true
ipc = "host"
publish = ["8000:8000"]

[container.ulimits]
memlock = -1
nofile = "1:2"

[[mount]]
source = "./m"
target = "/m"
read_only = true

[[mount]]
source = "~/.cache"
target = "/c"

[[mount]]
source = "named"
target = "/n"

[env]
A = "x y"
)");
}

TEST(Importer, ReadsEverySpellingAlike) {
  struct {
    std::vector<Words> spellings;
  } const cases[] = {
      {{{"-v", "/a:/b"},
        {"-v=/a:/b"},
        {"-v/a:/b"},
        {"--volume", "/a:/b"},
        {"--volume=/a:/b"},
        {"-itv", "/a:/b"},
        {"-itv/a:/b"},
        {"--mount", "type=bind,src=/a,dst=/b"},
        {"--mount=type=bind,source=/a,destination=/b"},
        {"--mount", "type=bind,\"source=/a\",target=/b"},
        {"-v", "/a/:/b:rw"},
        {"-v", "/a/x/..:/b"}}},
      {{{"-v", "/a:/b:ro"},
        {"--mount", "type=bind,src=/a,dst=/b,readonly"},
        {"--mount", "type=bind,src=/a,dst=/b,ro=true"}}},
      {{{"--env=A="}, {"-e", "A="}, {"-eA="}, {"-e=A="}}},
      {{{"--gpus=all"}, {"--gpus", "all"}}},
      {{{"--gpus", "device=0"}, {"--gpus", "\"device=0\""}}},
      {{{"--net=host"}, {"--network", "host"}, {"--network=host"}}},
      {{{},
        {"-it"},
        {"-ti"},
        {"--interactive", "--tty"},
        {"-i=true"},
        {"--rm=false"},
        {"--sig-proxy"},
        {"--name="},
        {"--sig-proxy=true"},
        {"--cidfile", "/x"},
        {"-q"},
        {"--"}}},
      {{{"--rm"}, {"--rm=true"}, {"--rm=1"}, {"--rm=false", "--rm"}, {"-it", "--rm"}}},
      {{{"--platform=linux/arm64"}, {"--platform", "linux/arm64/v8"}, {"--platform=arm64"}}},
      {{{"-l", "x"}, {"--label", "x="}}},
  };
  for (const auto& [spellings] : cases) {
    for (const Words& spelling : spellings) {
      EXPECT_EQ(import(spelling).toml, import(spellings.front()).toml) << join(spelling, " ");
    }
  }
}

TEST(Importer, KeepsTheWayToTheGpu) {
  struct {
    Words options;
    GpuAccess access;
    std::string devices;
    std::string runtime;  // in [container]
  } const cases[] = {
      {{}, GpuAccess::none, "all", ""},
      {{"--gpus", "all"}, GpuAccess::gpus, "all", ""},
      {{"--gpus", "2"}, GpuAccess::gpus, "2", ""},
      {{"--gpus", "\"device=0,1\""}, GpuAccess::gpus, "device=0,1", ""},
      {{"--gpus", "all,\"capabilities=compute,utility\""},
       GpuAccess::gpus,
       "all,\"capabilities=compute,utility\"",
       ""},
      {{"--runtime=nvidia", "--gpus", "all"}, GpuAccess::runtime_and_gpus, "all", ""},
      {{"--runtime", "nvidia"}, GpuAccess::runtime, "", ""},
      {{"--runtime", "runc"}, GpuAccess::none, "all", "runc"},
      {{"--runtime", "runc", "--gpus", "all"}, GpuAccess::gpus, "all", "runc"},
      {{"--device", "nvidia.com/gpu=all"}, GpuAccess::cdi, "all", ""},
      {{"--device=nvidia.com/gpu=0", "--device", "nvidia.com/gpu=1"},
       GpuAccess::cdi,
       "device=0,1",
       ""},
      {{"--runtime=nvidia", "--device", "nvidia.com/gpu=0"}, GpuAccess::cdi, "device=0", "nvidia"},
      {{"--device", "/dev/dri"}, GpuAccess::none, "all", ""},
  };
  for (const auto& [options, access, devices, runtime] : cases) {
    const Profile profile = import(options).profile;
    const auto found =
        std::ranges::find(profile.container, find_by_key("runtime"), &OptionValue::option);

    EXPECT_EQ(profile.gpu.access, access) << join(options, " ");
    EXPECT_EQ(profile.gpu.devices, devices) << join(options, " ");
    EXPECT_EQ(found == profile.container.end() ? "" : found->values.front(), runtime)
        << join(options, " ");
  }
}

TEST(Importer, WritesSourcesOfMountsSoThatOthersCanUseThem) {
  struct {
    std::string written, source;
  } const cases[] = {
      {"/work/project", "."},
      {"/work/project/a", "./a"},
      {"/work/projects", "/work/projects"},
      {"/home/me", "~"},
      {"/home/me/a b", "~/a b"},
      {"/home/you", "/home/you"},
      {"./a", "./sub/a"},
      {".", "./sub"},
      {"..", "."},
      {"../..", ".."},
      {"../../x", "../x"},
      {"/", "/"},
      {"vol", "vol"},
      {"a/b", "./sub/a/b"},
      {"x", "./sub/x"},
      {"/a/../work/project/b", "./b"},
  };
  for (const auto& [written, source] : cases) {
    const Profile profile = import({"-v", written + ":/t"}).profile;

    ASSERT_EQ(profile.mounts.size(), 1U) << written;
    EXPECT_EQ(profile.mounts.front().source, source) << written;
  }
}

TEST(Importer, LeavesToDockerWhatAProfileWouldReadDifferently) {
  struct {
    Words options;
    std::string word;
  } const cases[] = {
      {{"-v", "--rm"}, "--volume=--rm"},
      {{"-v", "/data"}, "--volume=/data"},
      {{"-v", "~/x:/x"}, "--volume=~/x:/x"},
      {{"-v", "/a/${X}:/x"}, "--volume=/a/${X}:/x"},
      {{"-v", "/a:b"}, "--volume=/a:b"},
      {{"-v", "$HOME/x:/x"}, "--volume=$HOME/x:/x"},
      {{"--ipc="}, "--ipc="},
      {{"-v", "/a:/b:ro:z"}, "--volume=/a:/b:ro:z"},
      {{"--mount", "type=tmpfs,target=/x"}, "--mount=type=tmpfs,target=/x"},
      {{"--mount", "type=volume,src=v,dst=/x,volume-nocopy"},
       "--mount=type=volume,src=v,dst=/x,volume-nocopy"},
      {{"--env-file", "~/env"}, "--env-file=~/env"},
      {{"-e", "a b=c"}, "--env=a b=c"},
      {{"--user", "caller"}, "--user=caller"},
      {{"--cpus", ".5"}, "--cpus=.5"},
      {{"--health-cmd", "a\nb"}, "--health-cmd=a\nb"},
      {{"--network", "a", "--network", "b"}, "--network=b"},
      {{"--some-new-option=x"}, "--some-new-option=x"},
  };
  for (const auto& [options, word] : cases) {
    const Imported imported = import(options);

    EXPECT_EQ(imported.profile.extra_args, Words{word}) << join(options, " ");
    EXPECT_TRUE(std::ranges::find(imported.profile.container, find_by_key("remove"),
                                  &OptionValue::option) == imported.profile.container.end());
  }
}

TEST(Importer, KeepsTheLastOfWhatCanBeGivenOnce) {
  const Imported imported = import({"--ipc", "private", "--ipc=host", "-e", "A=1", "-e", "A=2",
                                    "--ulimit", "core=1", "--ulimit", "core=2", "--rm", "--rm"});

  EXPECT_NE(imported.toml.find("ipc = \"host\""), std::string::npos);
  EXPECT_NE(imported.toml.find("A = \"2\""), std::string::npos);
  EXPECT_NE(imported.toml.find("core = 2"), std::string::npos);
  for (const char* const what : {"`--ipc`", "`A`", "`--ulimit core`", "`--rm`"}) {
    EXPECT_TRUE(has_note(imported, std::string{what} + " is given twice")) << what;
  }
}

TEST(Importer, TakesVariablesThatDockerTakesFromTheHostFromThereToo) {
  const Imported imported = import({"-e", "A", "-e", "B=1", "-e", "B"});

  EXPECT_NE(imported.toml.find("env_from_host = [\"A?\", \"B?\"]"), std::string::npos);
  EXPECT_EQ(imported.toml.find("[env]"), std::string::npos);
}

TEST(Importer, TellsSecretsFromWhatIsNone) {
  struct {
    std::string variable;
    bool is_kept;
  } const cases[] = {
      {"HF_TOKEN=<HF_TOKEN>", false},
      {"HF_TOKEN=your-token-here", false},
      {"API_KEY=short", false},
      {"URL=http://me:pass@host/", false},
      {"HF_TOKEN=", true},
      {"OPENAI_API_KEY=EMPTY", true},
      {"API_KEY=/run/secrets/key", true},
      {"USE_API_KEY=false", true},
      {"MAX_TOKEN=4096", true},
      {"TOKENIZERS_PARALLELISM=false", true},
      {"URL=http://host:3128", true},
      {"URL=http://me:$PASS@host/", true},
      {"HF_TOKEN_PATH=/home/x/t", true},
  };
  for (const auto& [variable, is_kept] : cases) {
    const Profile profile = import({"-e", variable}).profile;

    EXPECT_EQ(profile.env.size(), is_kept ? 1U : 0U) << variable;
    EXPECT_EQ(profile.env_from_host.size(), is_kept ? 0U : 1U) << variable;
  }
}

TEST(Importer, KnowsWhatAnotherEngineLacks) {
  const Words podman = {"podman", "run", "--gpus", "all", "--umask=022", "reg.test/img:1"};

  EXPECT_EQ(import_words(podman, facts).profile.engine, "podman");
  EXPECT_FALSE(has_note(import_words(podman, facts), "option of"));
}

TEST(Importer, RefusesAWordByItsName) {
  struct {
    Words options;
    std::string word;
  } const cases[] = {
      {{"--unknown"}, "--unknown"},
      {{"-z"}, "-z"},
      {{"--rm=perhaps"}, "--rm=perhaps"},
      {{"--help"}, "--help"},
      {{"--umask=022"}, "--umask"},
      {{"-e", "=x"}, "-e =x"},
      {{"--platform", "x/"}, "--platform=x/"},
      {{"--gpus", ""}, "--gpus="},
      {{"--gpus", "a\nb"}, "--gpus=a b"},
      {{"--name", "a\nb"}, "--name=a b"},
  };
  for (const auto& [options, word] : cases) {
    const Error error = refusal(options);

    EXPECT_EQ(error.id(), "import.inexpressible") << word;
    EXPECT_EQ(error.details().at("word"), word);
    EXPECT_FALSE(error.hint().empty());
  }
}

TEST(Importer, RefusesWhatIsNoRunLine) {
  for (const Words& words :
       {Words{}, Words{"ls"}, Words{"docker"}, Words{"docker", "ps"}, Words{"docker", "run"},
        Words{"docker", "-H", "x", "run", "a"}, Words{"docker", "run", "Bad"},
        Words{"docker", "run", "\xff"}, Words{"docker", "run", "-e"}, Words{"sudo"}}) {
    EXPECT_EQ(test::error_of([&] { import_words(words, facts); }).id(), "import.inexpressible")
        << join(words, " ");
  }
}

TEST(Importer, NeverShowsASecretThatItRefuses) {
  const std::string secret = std::string{"hf_"} + "abcdefghijklmnopqrstuvwx1";  // made up
  for (const auto& [options, command] :
       std::vector<std::pair<Words, Words>>{{{}, {"--api-key", secret}},
                                            {{}, {"bash", "-c", "serve --api-key " + secret}},
                                            {{"--label", "token=" + secret}, {}},
                                            {{"-v", "/x/" + secret + ":/x"}, {}},
                                            {{"--unknown-" + secret}, {}}}) {
    const Error error = refusal(options, command);

    EXPECT_EQ(error.id(), "import.inexpressible");
    EXPECT_EQ((std::string{error.what()} + error.hint() + error.details().at("word")).find(secret),
              std::string::npos);
  }
}

TEST(Importer, InfersThePurposeWhereSomethingSaysIt) {
  struct {
    std::string image;
    Words words;  // from the entrypoint on, when it begins with `--entrypoint`
    std::string purpose;
  } const cases[] = {
      {"nvcr.io/nvidia/vllm:25.11-py3", {"vllm", "serve", "m"}, "inference"},
      {"x/y:1", {"bash", "-lc", "exec vllm serve m"}, "inference"},
      {"x/y:1", {"python3", "-m", "sglang.launch_server"}, "inference"},
      {"vllm/vllm-openai:latest", {"--model", "unsloth/m"}, "inference"},
      {"vllm/vllm-openai:latest", {}, "inference"},
      {"nvcr.io/nim/meta/llama:1", {}, "inference"},
      {"nvcr.io/nim/meta/llama:1", {"bash"}, ""},
      {"unsloth/unsloth:x", {}, "training"},
      {"unsloth/unsloth:x", {"bash"}, ""},
      {"x/y:1", {"python", "/w/train.py"}, "training"},
      {"x/y:1", {"bash", "-c", "python finetune_lora.py --data /data/train"}, "training"},
      {"x/y:1", {"torchrun", "--nproc_per_node", "1", "x.py"}, "training"},
      {"x/y:1", {"python", "x.py", "--data", "/data/train"}, ""},
      {"x/y:1", {"python", "-c", "m.from_pretrained('x')"}, ""},
      {"x/y:1", {"nvidia-smi"}, "tool"},
      {"x/y:1", {"jupyter", "lab"}, "tool"},
      {"x/y:1", {"vllm", "bench", "serve"}, "tool"},
      {"x/y:1", {"bash"}, ""},
      {"x/y:1", {}, ""},
  };
  for (const auto& [image, words, purpose] : cases) {
    Words line = {"docker", "run", image};
    line.insert(line.end(), words.begin(), words.end());
    const Imported imported = import_words(line, facts);

    EXPECT_EQ(imported.profile.purpose, purpose) << join(line, " ");
    EXPECT_EQ(has_note(imported, "purpose = "), !purpose.empty());
  }
}

}  // namespace
}  // namespace sparkrun::profile
