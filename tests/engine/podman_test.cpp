// SPDX-License-Identifier: MIT
#include "engine/podman.hpp"

#include "base/error.hpp"
#include "engine/docker.hpp"
#include "support/error_of.hpp"
#include "support/test_system.hpp"

#include <gtest/gtest.h>

namespace sparkrun::engine {
namespace {

using std::chrono::seconds;
using test::error_of;
using Strings = std::vector<std::string>;

// Answers of podman 4.3.1, cut down to what matters.
constexpr const char* info_json = R"({
  "host":{"arch":"arm64","os":"linux","ociRuntime":{"name":"crun"},"serviceIsRemote":false,
          "security":{"rootless":true}},
  "store":{"graphRoot":"/home/me/.local/share/containers/storage"},
  "version":{"Version":"4.3.1"}})";
constexpr const char* image_json = R"([{"Id":"892e","Digest":"sha256:572e",
  "RepoDigests":["reg.test/a@sha256:572e","reg.test/a@sha256:9021"],"Os":"linux","Architecture":"arm64",
  "Config":{"Entrypoint":["/opt/nvidia/nvidia_entrypoint.sh"],"Cmd":["bash"]}}])";

class PodmanTest : public testing::Test {
 protected:
  test::TestSystem world;
  std::unique_ptr<Engine> engine = open_podman({"podman"}, world.system);

  Strings last_argv() { return world.processes.ran.back().argv; }
};

TEST_F(PodmanTest, SaysWhatItIs) {
  world.processes.on({"podman", "info"}, {.out = info_json});

  const EngineFacts& facts = engine->facts();

  EXPECT_EQ(facts.name, "podman");
  EXPECT_EQ(facts.version, "4.3.1");
  EXPECT_EQ(facts.architecture, "arm64");
  EXPECT_EQ(facts.runtimes, Strings{"crun"});
  EXPECT_EQ(facts.root_directory, "/home/me/.local/share/containers/storage");
  EXPECT_TRUE(facts.is_rootless);
  EXPECT_FALSE(facts.is_remote);
}

TEST_F(PodmanTest, GivesIdsTheirAlgorithm) {
  world.processes.on({"podman", "image", "inspect"}, {.out = image_json});
  world.processes.on({"podman", "container", "inspect"},
                     {.out = R"([{"Id":"4cc4","Image":"892e","State":{"Running":false,"ExitCode":3,
                                  "OOMKilled":true}}])"});

  EXPECT_EQ(engine->find_image("reg.test/a@sha256:572e")->id, "sha256:892e");
  const auto state = engine->find_container("job");
  EXPECT_EQ(state->image, "sha256:892e");
  EXPECT_EQ(state->exit, 3);
  EXPECT_TRUE(state->is_oom_killed);
  EXPECT_FALSE(world.processes.ran.back().is_interruptible);  // somebody waits for the job
}

TEST_F(PodmanTest, HasNothingForWhatIsNotThere) {
  world.processes.on(
      {"podman", "image", "inspect"},
      {.out = "[]\n", .err = "Error: inspecting object: a: image not known\n", .exit = 125});
  world.processes.on(
      {"podman", "container", "inspect"},
      {.out = "[]\n", .err = "Error: inspecting object: no such container a\n", .exit = 125});
  world.processes.on(
      {"podman", "stop"},
      {.err = "Error: no container with name or ID \"a\" found: no such container\n", .exit = 125});

  EXPECT_FALSE(engine->find_image("a"));
  EXPECT_FALSE(engine->find_container("a"));
  EXPECT_NO_THROW(engine->stop("a", seconds{3}));
  EXPECT_EQ(last_argv(), (Strings{"podman", "stop", "--time", "3", "a"}));
}

TEST_F(PodmanTest, SaysThatItFailed) {
  world.processes.on({"podman", "image", "inspect"},
                     {.err = "Error: database is locked", .exit = 125});

  EXPECT_EQ(error_of([&] { engine->find_image("a"); }).id(), "engine.failed");
  EXPECT_EQ(error_of([&] { open_podman({"absent"}, world.system)->facts(); }).id(),
            "engine.missing");
}

TEST_F(PodmanTest, ListsImagesByTheirNames) {
  world.processes.on({"podman", "image", "ls"},
                     {.out = R"([{"Id":"892e","Names":["localhost/sparkrun/a:pinned-1"],
                                  "RepoDigests":["reg.test/a@sha256:572e"],"Size":12}])"});

  const auto images = engine->list_images("sparkrun/*");

  ASSERT_EQ(images.size(), 1U);
  EXPECT_EQ(images[0].id, "sha256:892e");
  EXPECT_EQ(images[0].tags, Strings{"localhost/sparkrun/a:pinned-1"});
  EXPECT_EQ(images[0].bytes, 12);
}

// A command of one's own goes through the client for everything.
TEST(DockerWithACommand, AsksItsClient) {
  test::TestSystem world;
  const auto engine = open_docker({"sudo", "-n", "docker"}, world.system);
  world.processes.on({"sudo", "-n", "docker", "info"},
                     {.out = R"({"ServerVersion":"28.1.1","Architecture":"aarch64",
                                 "Runtimes":{"nvidia":{},"runc":{}}})"});
  world.processes.on({"sudo", "-n", "docker", "image", "inspect"},
                     {.out = R"([{"Id":"sha256:ab","Os":"linux"}])"});

  EXPECT_TRUE(engine->facts().has_runtime("nvidia"));
  EXPECT_FALSE(engine->facts().is_remote);
  EXPECT_EQ(engine->find_image("a")->id, "sha256:ab");
  EXPECT_TRUE(world.http.requests().empty());
}

TEST(DockerWithACommand, SaysThatSudoWantsAPassword) {
  test::TestSystem world;
  world.processes.on({"sudo"}, {.err = "sudo: a password is required\n", .exit = 1});

  EXPECT_EQ(error_of([&] {
              open_docker({"sudo", "-n", "docker"}, world.system)->facts();
            }).id(),
            "engine.permission");
}

TEST(DockerElsewhere, IsAskedThroughItsClientAndSaysWhereItIs) {
  test::TestSystem world;
  world.set("DOCKER_HOST", "ssh://me:hunter2@spark");
  world.processes.on({"docker", "info"}, {.out = R"({"ServerVersion":"28.1.1"})"});

  const auto engine = open_docker({"docker"}, world.system);

  EXPECT_TRUE(engine->facts().is_remote);
  EXPECT_EQ(engine->facts().address.find("hunter2"), std::string::npos);
  EXPECT_EQ(engine->facts().toolkit_mode, "");
}

}  // namespace
}  // namespace sparkrun::engine
