// SPDX-License-Identifier: MIT
#include "profile/import/writer.hpp"

#include "profile/reader.hpp"

#include <gtest/gtest.h>

namespace sparkrun::profile {
namespace {

Profile with_command(std::vector<std::string> command) {
  Profile profile;
  profile.image = "ubuntu:24.04";
  profile.command = std::move(command);
  return profile;
}

TEST(ProfileWriter, WritesWhatWasRead) {
  const std::string text = R"(version = 1
summary = "all keys"
purpose = "tool"
image = "ubuntu:24.04"
fallback = ["24.*"]
platforms = ["linux/amd64", "linux/arm64"]
engine = "docker"
command = ["bash", "-c", "true"]
env_from_host = ["A", "B?"]

[gpu]
access = "gpus"
devices = "device=0,1"

[container]
privileged = true
shm_size = "16g"
publish = ["80:80", "81:81"]
cpus = "1.5"
pids_limit = -1
sig_proxy = false
extra_args = ["--new=1", "--volume=/x"]

[container.ulimits]
memlock = -1
nofile = "1:2"

[container.labels]
"a.b/c" = ""
plain = "007"

[[mount]]
source = "./x"
target = "/x"
create = true
read_only = true
options = ["z", "rshared"]

[env]
C = "1"
"my.option" = "a \"b\""

[env_from_file]
D = "~/d"

[preflight]
min_available_gib = 10

[preflight.packages]
torch = "==2.9.0"
)";

  EXPECT_EQ(write_profile(read_profile(text, "x")), text);
}

TEST(ProfileWriter, KeepsEveryWordOfACommandExactly) {
  const std::vector<std::vector<std::string>> commands = {
      {"", " ", "a b", "'", "\"", "\\", "\\n", "ü", "$X", "`x`"},
      {"line 1\nline 2\n"},
      {"\nfirst line empty"},
      {"\n\n"},
      {"ends with a quote\n'"},
      {"three '''\nof them"},
      {"a\ttab\nand a \\ backslash\n"},
      {"carriage\r\nreturn"},
      {"bell\a\nescape\x1b[31m"},
      {"<<<<<<< HEAD\n=======\n>>>>>>> x\n"},
      {"\"\"\"\n\"\"\""},
      std::vector<std::string>(50, "--option"),
  };
  for (const auto& command : commands) {
    const std::string written = write_profile(with_command(command));

    EXPECT_EQ(read_profile(written, "x").command, command) << written;
  }
}

TEST(ProfileWriter, KeepsScriptsReadable) {
  EXPECT_NE(
      write_profile(with_command({"bash", "-c", "set -e\necho \"$X\"\n"}))
          .find("command = [\n    \"bash\", \"-c\",\n    '''\nset -e\necho \"$X\"\n''',\n]\n"),
      std::string::npos);
}

TEST(ProfileWriter, WritesOptionsWithTheirValuesOnALine) {
  const std::string text = write_profile(
      with_command({"vllm", "serve", "model", "--max-model-len", "32768", "--trust-remote-code",
                    "--gpu-memory-utilization", "0.85", "--served-model-name", "a", "b"}));

  EXPECT_NE(text.find("    \"vllm\", \"serve\", \"model\",\n    \"--max-model-len\", \"32768\",\n"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace sparkrun::profile
