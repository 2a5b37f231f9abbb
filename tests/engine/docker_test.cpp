// SPDX-License-Identifier: MIT
#include "engine/docker.hpp"

#include "base/digest.hpp"
#include "base/error.hpp"
#include "support/error_of.hpp"
#include "support/test_system.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <csignal>
#include <sys/stat.h>
#include <unistd.h>

namespace sparkrun::engine {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::error_of;
using test::TestSystem;

TEST(DockerHost, IsTheUsualSocketByDefault) {
  const TestSystem world;

  EXPECT_EQ(docker_host(world.system.environment), "unix:///var/run/docker.sock");
}

TEST(DockerHost, IsWhatTheVariableSays) {
  TestSystem world;
  world.set("DOCKER_HOST", "ssh://spark");
  world.set("DOCKER_CONTEXT", "remote");

  EXPECT_EQ(docker_host(world.system.environment), "ssh://spark");
}

// The client's own store of contexts, with one called `rootless`.
void write_context(const TestSystem& world, const std::string& docker_folder) {
  world.folder.write(
      docker_folder + "/contexts/meta/" + sha256_hex("rootless") + "/meta.json",
      R"({"Name":"rootless","Endpoints":{"docker":{"Host":"unix:///run/user/7/docker.sock","SkipTLSVerify":false}}})");
}

TEST(DockerHost, IsThatOfTheCurrentContext) {
  const TestSystem world;
  write_context(world, "home/.docker");
  world.folder.write("home/.docker/config.json", R"({"auths":{},"currentContext":"rootless"})");

  EXPECT_EQ(docker_host(world.system.environment), "unix:///run/user/7/docker.sock");
}

TEST(DockerHost, IsThatOfTheContextInTheEnvironment) {
  TestSystem world;
  write_context(world, "docker-config");
  world.folder.write("docker-config/config.json", R"({"currentContext":"another"})");
  world.set("DOCKER_CONFIG", (world.folder / "docker-config").string());
  world.set("DOCKER_CONTEXT", "rootless");

  EXPECT_EQ(docker_host(world.system.environment), "unix:///run/user/7/docker.sock");
}

TEST(DockerHost, IsTheUsualSocketInTheDefaultContext) {
  const TestSystem world;
  world.folder.write("home/.docker/config.json", R"({"currentContext":"default"})");

  EXPECT_EQ(docker_host(world.system.environment), "unix:///var/run/docker.sock");
}

TEST(DockerHost, CannotBeThatOfAnUndefinedContext) {
  TestSystem world;
  world.set("DOCKER_CONTEXT", "gone");

  const Error error = error_of([&] { docker_host(world.system.environment); });

  EXPECT_EQ(error.id(), "engine.unreachable");
  EXPECT_EQ(error.what(),
            "the docker context `gone` is not defined in " + (world.home() / ".docker").string());
}

// Answers of docker 28.1 on a DGX Spark, cut down to what matters.
constexpr std::string_view info_json = R"({
  "ServerVersion":"28.1.1","OSType":"linux","Architecture":"aarch64","DefaultRuntime":"runc","DockerRootDir":"/var/lib/docker",
  "Runtimes":{"io.containerd.runc.v2":{"path":"runc"},"nvidia":{"path":"nvidia-container-runtime"},"runc":{"path":"runc"}},
  "DriverStatus":[["Backing Filesystem","extfs"]],"SecurityOptions":["name=apparmor","name=seccomp,profile=builtin"],
  "CDISpecDirs":[]})";

class DockerTest : public testing::Test {
 protected:
  DockerTest() {
    // Any file that can be opened will do: nothing connects to it here.
    world.set("DOCKER_HOST", "unix://" + world.folder.write("docker.sock", "").string());
    world.http.on("http://docker/info")
        .reply(200, std::string{info_json}, {{"Api-Version", "1.49"}});
    engine = open_docker({"docker"}, world.system);
  }

  TestSystem world;
  std::unique_ptr<Engine> engine;
};

TEST_F(DockerTest, SaysWhatItIs) {
  const EngineFacts& facts = engine->facts();

  EXPECT_EQ(facts.name, "docker");
  EXPECT_EQ(facts.version, "28.1.1");
  EXPECT_EQ(facts.api_version, "1.49");
  EXPECT_EQ(facts.os, "linux");
  EXPECT_EQ(facts.architecture, "arm64");
  EXPECT_TRUE(facts.has_runtime("nvidia"));
  EXPECT_FALSE(facts.has_runtime("crun"));
  EXPECT_EQ(facts.default_runtime, "runc");
  EXPECT_EQ(facts.root_directory, "/var/lib/docker");
  EXPECT_EQ(facts.image_store, "classic");
  EXPECT_FALSE(facts.is_rootless);
  EXPECT_FALSE(facts.has_nvidia_cdi);
}

TEST_F(DockerTest, IsAskedOnceForItsFactsOverTheSocket) {
  engine->facts();
  engine->facts();

  EXPECT_EQ(world.http.urls(), (std::vector<std::string>{"http://docker/info"}));
  EXPECT_EQ(world.http.requests().at(0).unix_socket, (world.folder / "docker.sock").string());
  EXPECT_TRUE(world.processes.ran.empty());
}

TEST_F(DockerTest, KnowsTheContainerdStore) {
  world.http.on("http://docker/info")
      .reply(
          200,
          R"({"Architecture":"x86_64","DriverStatus":[["driver-type","io.containerd.snapshotter.v1"]]})");

  EXPECT_EQ(engine->facts().image_store, "containerd");
  EXPECT_EQ(engine->facts().architecture, "amd64");
}

TEST_F(DockerTest, KnowsThatItIsRootless) {
  world.http.on("http://docker/info")
      .reply(
          200,
          R"({"SecurityOptions":["name=seccomp,profile=builtin","name=rootless","name=cgroupns"]})");

  EXPECT_TRUE(engine->facts().is_rootless);
}

TEST_F(DockerTest, FindsASpecificationOfTheGpuForCdi) {
  world.folder.write("cdi/other.yaml", "kind: example.com/device\n");
  const std::string info =
      R"({"CDISpecDirs":[")" + (world.folder / "cdi").string() + R"(","/no/such/folder"]})";
  world.http.on("http://docker/info").reply(200, info);
  EXPECT_FALSE(open_docker({"docker"}, world.system)->facts().has_nvidia_cdi);

  world.folder.write("cdi/nvidia.yaml", "cdiVersion: 0.5.0\nkind: nvidia.com/gpu\n");

  EXPECT_TRUE(open_docker({"docker"}, world.system)->facts().has_nvidia_cdi);
}

TEST_F(DockerTest, SurvivesFactsOfOtherTypes) {
  world.http.on("http://docker/info")
      .reply(200,
             R"({"Runtimes":null,"DriverStatus":7,"SecurityOptions":"x","CDISpecDirs":[1,null]})");

  EXPECT_TRUE(engine->facts().runtimes.empty());
  EXPECT_EQ(engine->facts().image_store, "classic");
}

TEST_F(DockerTest, IsUnreachableWithoutItsSocket) {
  sys::fs::remove(world.folder / "docker.sock");

  const Error error = error_of([&] { engine->facts(); });

  EXPECT_EQ(error.id(), "engine.unreachable");
  EXPECT_EQ(error.what(),
            "there is no docker socket at " + (world.folder / "docker.sock").string());
  EXPECT_TRUE(world.http.requests().empty());
}

TEST_F(DockerTest, IsUnreachableWhenNobodyListens) {
  world.http.on("http://docker/info").fail(sys::HttpFault::connect, "connection refused");

  const Error error = error_of([&] { engine->facts(); });

  EXPECT_EQ(error.id(), "engine.unreachable");
  EXPECT_EQ(error.what(), "docker does not answer on " + (world.folder / "docker.sock").string() +
                              ": connection refused");
}

// Root may open every socket, so a child without privileges asks. 42: the right error.
TEST(DockerDeathTest, SaysThatTheSocketIsNotYours) {
  TestSystem world;
  const sys::fs::path socket = world.folder.write("docker.sock", "");
  world.set("DOCKER_HOST", "unix://" + socket.string());
  chmod(socket.c_str(), 0);

  EXPECT_EXIT(
      {
        if (setgid(65534) != 0 || setuid(65534) != 0) { /* nobody special already */
        }
        const Error error = error_of([&] { open_docker({"docker"}, world.system)->facts(); });
        _exit(error.id() == "engine.permission" ? 42 : 1);
      },
      testing::ExitedWithCode(42), "");
}

TEST_F(DockerTest, PassesOnAnErrorOfTheEngine) {
  world.http.on("http://docker/info").reply(500, "{\"message\":\"disk \x1b[31mfull\"}\n");

  const Error error = error_of([&] { engine->facts(); });

  EXPECT_EQ(error.id(), "engine.failed");
  EXPECT_STREQ(error.what(), "docker answered 500 to GET /info: {\"message\":\"disk ?[31mfull\"}");
}

TEST_F(DockerTest, RefusesAnAnswerThatIsNotJson) {
  world.http.on("http://docker/info").reply(200, "<html>");

  EXPECT_EQ(error_of([&] { engine->facts(); }).id(), "engine.failed");
}

TEST_F(DockerTest, FindsALocalImage) {
  world.http.on("http://docker/images/reg.test/app@sha256:00/json")
      .reply(
          200,
          R"({"Id":"sha256:ab","RepoDigests":["reg.test/app@sha256:00"],"Os":"linux","Architecture":"arm64",
                      "Config":{"Entrypoint":["/opt/nvidia/nvidia_entrypoint.sh"],"Cmd":["bash"]}})");

  const auto image = engine->find_image("reg.test/app@sha256:00");

  ASSERT_TRUE(image);
  EXPECT_EQ(image->id, "sha256:ab");
  EXPECT_EQ(image->repo_digests, std::vector<std::string>{"reg.test/app@sha256:00"});
  EXPECT_EQ(image->os, "linux");
  EXPECT_EQ(image->architecture, "arm64");
  EXPECT_EQ(image->entrypoint, std::vector<std::string>{"/opt/nvidia/nvidia_entrypoint.sh"});
  EXPECT_EQ(image->command, std::vector<std::string>{"bash"});
}

TEST_F(DockerTest, HasNothingForAnImageThatIsNotThere) {
  world.http.on("http://docker/images/absent/json")
      .reply(404, R"({"message":"No such image: absent"})");

  EXPECT_FALSE(engine->find_image("absent"));
}

TEST_F(DockerTest, SaysHowAContainerIs) {
  world.http.on("http://docker/containers/job/json")
      .reply(
          200,
          R"({"Id":"c0","Image":"sha256:ab","State":{"Running":false,"ExitCode":137,"OOMKilled":true}})");

  const auto state = engine->find_container("job");

  ASSERT_TRUE(state);
  EXPECT_EQ(state->id, "c0");
  EXPECT_EQ(state->image, "sha256:ab");
  EXPECT_FALSE(state->is_running);
  EXPECT_EQ(state->exit, 137);
  EXPECT_TRUE(state->is_oom_killed);
}

TEST_F(DockerTest, StopsWithTheGraceThatWasGiven) {
  world.http.on("http://docker/containers/job/stop?t=10").reply(204);

  engine->stop("job", seconds{10});

  EXPECT_EQ(world.http.requests().at(0).method, "POST");
  EXPECT_GT(world.http.requests().at(0).limits.total_timeout, seconds{10});
}

TEST_F(DockerTest, RemovesByForce) {
  world.http.on("http://docker/containers/job?force=1").reply(204);

  engine->remove("job");

  EXPECT_EQ(world.http.requests().at(0).method, "DELETE");
}

TEST_F(DockerTest, IsFineWithAContainerThatIsGone) {
  for (const int status : {304, 404, 409}) {
    world.http.on("http://docker/containers/job/stop?t=0").reply(status);
    world.http.on("http://docker/containers/job?force=1").reply(status);

    EXPECT_NO_THROW(engine->stop("job", seconds{0})) << status;
    EXPECT_NO_THROW(engine->remove("job")) << status;
  }
}

TEST_F(DockerTest, SaysThatItCouldNotStop) {
  world.http.on("http://docker/containers/job/stop?t=0").reply(500, "cannot kill");

  const Error error = error_of([&] { engine->stop("job", seconds{0}); });

  EXPECT_EQ(error.id(), "engine.failed");
  EXPECT_STREQ(error.what(), "docker answered 500 to POST /containers/job/stop?t=0: cannot kill");
}

TEST_F(DockerTest, PullsQuietlyWithItsClient) {
  world.processes.on({"docker", "pull"}, {.out = "sha256:00\n"});

  engine->pull("reg.test/app@sha256:00", "linux/arm64", false);

  EXPECT_EQ(world.processes.ran.at(0).argv,
            (std::vector<std::string>{"docker", "pull", "--quiet", "--platform", "linux/arm64",
                                      "reg.test/app@sha256:00"}));
}

TEST_F(DockerTest, SaysWhatThePullSaid) {
  world.processes.on({"docker", "pull"}, {.err = "its own words\n", .exit = 1});
  const auto pull = [&] { engine->pull("reg.test/app:1", "", false); };

  EXPECT_EQ(error_of(pull).id(), "engine.failed");
  EXPECT_STREQ(error_of(pull).what(), "docker could not pull reg.test/app:1: its own words");

  world.processes.on({"docker", "pull"}, {.err = "unauthorized: who are you\n", .exit = 1});
  EXPECT_EQ(error_of(pull).id(), "registry.login_needed");
  EXPECT_NE(error_of(pull).hint().find("docker login reg.test"), std::string::npos);
}

TEST_F(DockerTest, SaysThatItsClientIsMissing) {
  const Error error = error_of([&] { engine->pull("a", "", false); });

  EXPECT_EQ(error.id(), "engine.missing");
  EXPECT_STREQ(error.what(), "`docker` is not on PATH");
}

TEST_F(DockerTest, ShowsThePullOnStderr) {
  test::ForegroundScript script;
  script.time_out().exit(0);
  world.processes.script = &script;

  engine->pull("a", "", true);

  EXPECT_EQ(world.processes.started.at(0).argv, (std::vector<std::string>{"docker", "pull", "a"}));
  EXPECT_TRUE(world.processes.started.at(0).out_to_err);
}

TEST_F(DockerTest, SaysThatAVisiblePullFailed) {
  test::ForegroundScript script;
  script.exit(1);
  world.processes.script = &script;

  world.processes.on({"docker", "pull", "--quiet", "a"}, {.err = "toomanyrequests", .exit = 1});

  EXPECT_EQ(error_of([&] { engine->pull("a", "", true); }).id(), "registry.rate_limited");
}

TEST_F(DockerTest, EndsAVisiblePullWhenInterrupted) {
  test::ForegroundScript script;
  script.signal(SIGTERM).exit(143, SIGTERM);
  world.processes.script = &script;

  const Error error = error_of([&] { engine->pull("a", "", true); });

  EXPECT_EQ(error.id(), "interrupted");
  EXPECT_EQ(script.sent, std::vector<int>{SIGTERM});
}

TEST_F(DockerTest, RunsACapturedContainer) {
  world.processes.on({"docker", "run"}, {.out = "facts"});

  const sys::ProcessResult result =
      engine->run_captured({"docker", "run", "a", "sh", "-s"}, "echo", milliseconds{1234});

  EXPECT_EQ(result.out, "facts");
  EXPECT_EQ(world.processes.ran.at(0).input, std::optional<std::string>{"echo"});
  EXPECT_EQ(world.processes.ran.at(0).timeout, milliseconds{1234});
}

TEST_F(DockerTest, LoadsWhatTheProducerWrites) {
  world.processes.on({"tar"}, {});
  world.processes.on({"docker", "load"}, {.out = "Loaded image: a:1\n"});

  engine->load({"tar", "--create"});

  const auto& commands = world.processes.pipelines.at(0).commands;
  EXPECT_EQ(commands, (std::vector<std::vector<std::string>>{{"tar", "--create"},
                                                             {"docker", "load", "--quiet"}}));
}

TEST_F(DockerTest, SaysWhoOfTheTwoFailedToLoad) {
  const auto load = [&] { engine->load({"tar"}); };
  world.processes.on({"tar"}, {.exit = 141, .signal = SIGPIPE});
  world.processes.on({"docker", "load"}, {.err = "invalid diffID\n", .exit = 1});
  EXPECT_STREQ(error_of(load).what(), "docker could not load the images: invalid diffID");
  EXPECT_EQ(error_of(load).id(), "engine.failed");

  world.processes.on({"tar"}, {.err = "file changed\n", .exit = 2});
  EXPECT_STREQ(error_of(load).what(), "docker could not load the images: tar: file changed");
}

TEST_F(DockerTest, SaysWhichProgramForLoadingIsMissing) {
  const auto load = [&] { engine->load({"tar"}); };
  EXPECT_EQ(error_of(load).id(), "archive.tar_failed");
  world.processes.on({"tar"}, {});
  EXPECT_EQ(error_of(load).id(), "engine.missing");
}

TEST(OpenEngine, TakesTheNamedOne) {
  TestSystem world;

  EXPECT_EQ(open({.name = "docker"}, world.system)->name(), "docker");
  EXPECT_EQ(open({.name = "podman"}, world.system)->name(), "podman");
  EXPECT_EQ(open({.name = "docker", .command = {"sudo", "-n", "docker"}}, world.system)->command(),
            (std::vector<std::string>{"sudo", "-n", "docker"}));
  EXPECT_EQ(error_of([&] { open({.name = "lxc"}, world.system); }).id(), "engine.unsupported");
}

TEST(OpenEngine, TakesWhatIsInstalledDockerFirst) {
  TestSystem world;
  world.set("PATH", (world.folder / "bin").string());
  EXPECT_EQ(open({}, world.system)->name(), "docker");  // whose absence is then explained

  chmod(world.folder.write("bin/podman", "").c_str(), 0755);
  EXPECT_EQ(open({}, world.system)->name(), "podman");

  chmod(world.folder.write("bin/docker", "").c_str(), 0755);
  EXPECT_EQ(open({}, world.system)->name(), "docker");
}

}  // namespace
}  // namespace sparkrun::engine
