// SPDX-License-Identifier: MIT
// Runs src/preflight/probe.sh with the shells of this machine, in a made-up container: programs
// that are stubs, and files below a folder of the test.
#include "base/text.hpp"
#include "preflight/facts.hpp"
#include "support/temp_dir.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace sparkrun::preflight {
namespace {

namespace fs = std::filesystem;

const std::string gb10_smi = R"(#!/bin/sh
case $* in
  *--query-gpu=name,driver_version,compute_cap*) echo "NVIDIA GB10, 580.142, 12.1" ;;
  *) echo "| NVIDIA-SMI 580.142   CUDA UMD Version: 13.0 |" ;;
esac
)";

// Facts as the real python would print them, among what libraries say.
const std::string stub_python = R"(#!/bin/sh
case $2 in
  *importlib.metadata*)
    echo "sparkrun-fact:cudart13=yes"
    echo "sparkrun-fact:package.transformers=5.13.1"
    echo "sparkrun-fact:packages=complete" ;;
  *)
    echo "torch=noise of a library"
    echo "sparkrun-fact:torch.cuda=13.0"
    echo "sparkrun-fact:torch=ok" ;;
esac
)";

bool is_on_path(const std::string& program) {
  return std::system(("command -v " + program + " >/dev/null 2>&1").c_str()) == 0;
}

std::string real_path(const std::string& program) {
  for (const char* const folder : {"/usr/bin/", "/bin/", "/usr/sbin/", "/sbin/"}) {
    if (fs::exists(folder + program)) return folder + program;
  }
  return {};
}

std::vector<std::string> shells() {
  std::vector<std::string> found = {"/bin/sh"};
  for (const char* const shell : {"dash", "busybox", "bash"}) {
    if (!is_on_path(shell)) continue;
    found.push_back(std::string{shell} == "busybox" ? "busybox sh" : shell);
  }
  return found;
}

class Probe : public testing::Test {
 protected:
  Probe() {
    folder_.make("bin");
    folder_.make("dev");
    for (const char* const program : {"timeout", "true", "sleep", "uname", "sh"}) use(program);
    stub("ldconfig",
         "#!/bin/sh\nprintf '2 libs found in cache\\n"
         "\\tlibcudart.so.13 (libc6,AArch64) => /usr/local/cuda/lib/libcudart.so.13\\n"
         "\\tlibcudart.so.12 (libc6,AArch64) => /opt/libcudart.so.12\\n'\n");
  }

  void use(const std::string& program) const {
    fs::create_symlink(real_path(program), folder_ / "bin" / program);
  }
  void remove(const std::string& program) const { fs::remove(folder_ / "bin" / program); }
  void stub(const std::string& program, const std::string& text) const {
    fs::permissions(folder_.write(fs::path{"bin"} / program, text), fs::perms::owner_all);
  }
  void add_devices() const {
    for (const char* const node : {"nvidia0", "nvidiactl", "nvidia-uvm"}) {
      folder_.write(fs::path{"dev"} / node, "");
    }
  }

  // `path`: what stands behind the stubs; nothing by default.
  [[nodiscard]] std::string output(const std::string& shell, const std::string& environment = "",
                                   const std::string& path = "") const {
    const std::string out = (folder_ / "out").string();
    const std::string program = shell.starts_with('/')
                                    ? shell
                                    : "$(command -v " + std::string{split_once(shell, ' ').first} +
                                          ") " + std::string{split_once(shell, ' ').second};
    const std::string command =
        "unset CUDA_VISIBLE_DEVICES NVIDIA_VISIBLE_DEVICES CUDA_VERSION; shell=\"" + program +
        "\"; " + environment + " PATH=" + (folder_ / "bin").string() + path + " $shell -s n1 " +
        folder_.path().string() + " <" SPARKRUN_SOURCE_DIR "/src/preflight/probe.sh >" + out;
    EXPECT_EQ(std::system(command.c_str()), 0) << shell;
    return folder_.read("out");
  }
  [[nodiscard]] ProbeFacts run(const std::string& shell, const std::string& environment = "",
                               const std::string& path = "") const {
    return parse_probe_output(output(shell, environment, path), "n1").value();
  }

  test::TempDir folder_;
};

TEST_F(Probe, TellsTheFactsOfAWorkingContainerInEveryShell) {
  stub("nvidia-smi", gb10_smi);
  stub("python3", stub_python);
  add_devices();
  folder_.write(".dockerenv", "");
  folder_.write("proc/1/cgroup", "0::/\n");

  for (const std::string& shell : shells()) {
    ProbeFacts facts =
        run(shell, "CUDA_VISIBLE_DEVICES=0 NVIDIA_VISIBLE_DEVICES=all CUDA_VERSION=");
    facts.values.erase("arch");
    facts.values.erase("python");

    const std::map<std::string, std::string, std::less<>> expected = {
        {"container.dockerenv", "yes"},
        {"container.containerenv", "no"},
        {"container.cgroup", "no"},
        {"env.CUDA_VISIBLE_DEVICES", "set"},
        {"env.CUDA_VISIBLE_DEVICES.value", "0"},
        {"env.NVIDIA_VISIBLE_DEVICES", "set"},
        {"env.NVIDIA_VISIBLE_DEVICES.value", "all"},
        {"env.CUDA_VERSION", "empty"},
        {"ldconfig.cudart", "libcudart.so.13 libcudart.so.12"},
        {"device.nvidia0", "ok"},
        {"device.nvidiactl", "ok"},
        {"device.nvidia_uvm", "ok"},
        {"nvidia_smi", "present"},
        {"nvidia_smi.exit", "0"},
        {"nvidia_smi.name", "NVIDIA GB10"},
        {"nvidia_smi.driver", "580.142"},
        {"nvidia_smi.compute_cap", "12.1"},
        {"nvidia_smi.count", "1"},
        {"cudart13", "yes"},
        {"package.transformers", "5.13.1"},
        {"packages", "complete"},
        {"torch", "ok"},
        {"torch.cuda", "13.0"},
        {"probe", "complete"},
    };
    EXPECT_EQ(facts.values, expected) << shell;
  }
}

TEST_F(Probe, TellsWhatAnEmptyImageLacks) {
  for (const std::string& shell : shells()) {
    const ProbeFacts facts = run(shell);

    EXPECT_TRUE(facts.is("python", "absent")) << shell;
    EXPECT_TRUE(facts.is("nvidia_smi", "absent")) << shell;
    EXPECT_TRUE(facts.is("device.nvidia0", "missing")) << shell;
    EXPECT_TRUE(facts.is("env.CUDA_VISIBLE_DEVICES", "unset")) << shell;
    EXPECT_TRUE(facts.is("container.dockerenv", "no")) << shell;
    EXPECT_FALSE(facts.get("container.cgroup").has_value()) << shell;
    EXPECT_FALSE(facts.get("torch").has_value()) << shell;
  }
}

TEST_F(Probe, NeedsNoProgramButTheShell) {
  for (const char* const program : {"timeout", "true", "sleep", "uname", "sh"}) remove(program);
  remove("ldconfig");
  stub("ldconfig", "#!/nonexistent\n");

  EXPECT_TRUE(run("/bin/sh").is("probe", "complete"));
}

TEST_F(Probe, KnowsAContainerByItsCgroup) {
  folder_.write("proc/1/cgroup", "12:pids:/x\n0::/system.slice/docker-0123.scope\n");

  EXPECT_TRUE(run("/bin/sh").is("container.cgroup", "yes"));
}

TEST_F(Probe, TellsAnEmptyVariableFromOneThatIsNotSet) {
  EXPECT_TRUE(run("/bin/sh", "CUDA_VISIBLE_DEVICES=").is("env.CUDA_VISIBLE_DEVICES", "empty"));
  EXPECT_TRUE(run("/bin/sh").is("env.CUDA_VISIBLE_DEVICES", "unset"));
}

TEST_F(Probe, TellsADeviceThatIsThereAndCannotBeOpened) {
  add_devices();
  const fs::path node = folder_ / "dev" / "nvidia0";
  fs::remove(node);
  // Opening a socket fails for root, too, as a device that the cgroup forbids does.
  const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{.sun_family = AF_UNIX};
  ASSERT_LT(node.string().size(), sizeof address.sun_path);
  std::strcpy(address.sun_path, node.c_str());
  ASSERT_EQ(bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);

  for (const std::string& shell : shells()) {
    const ProbeFacts facts = run(shell);
    EXPECT_TRUE(facts.is("device.nvidia0", "unreadable")) << shell;
    EXPECT_TRUE(facts.is("device.nvidiactl", "ok")) << shell;
  }
  close(listener);
}

TEST_F(Probe, StopsAnNvidiaSmiThatHangs) {
  stub("nvidia-smi", "#!/bin/sh\nexec sleep 60\n");
  const auto start = std::chrono::steady_clock::now();

  const ProbeFacts facts = run("/bin/sh");

  EXPECT_TRUE(facts.is("nvidia_smi.exit", "timeout"));
  EXPECT_TRUE(facts.is("probe", "complete"));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds{30});
}

TEST_F(Probe, StopsAnNvidiaSmiThatHangsWithoutTheProgramTimeout) {
  remove("timeout");
  stub("nvidia-smi", "#!/bin/sh\nexec sleep 60\n");
  const auto start = std::chrono::steady_clock::now();

  const ProbeFacts facts = run("/bin/sh");

  EXPECT_TRUE(facts.is("nvidia_smi.exit", "timeout"));
  EXPECT_TRUE(facts.is("probe", "complete"));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds{30});
}

TEST_F(Probe, KeepsTheWordsOfAnNvidiaSmiThatFails) {
  stub("nvidia-smi", "#!/bin/sh\necho 'Failed to initialize NVML: Unknown Error'; exit 255\n");

  for (const std::string& shell : shells()) {
    const ProbeFacts facts = run(shell);
    EXPECT_TRUE(facts.is("nvidia_smi.exit", "255")) << shell;
    EXPECT_TRUE(facts.is("nvidia_smi.error", "Failed to initialize NVML: Unknown Error")) << shell;
  }
}

TEST_F(Probe, WritesEachValueOnOneBoundedLine) {
  stub("nvidia-smi", "#!/bin/sh\nprintf 'a\\tb\\033[31m\\nc'; exit 1\n");
  stub("python3",
       "#!/bin/sh\nprintf 'sparkrun-fact:torch.error=%s\\n' \"" + std::string(3000, 'x') + "\"\n");

  for (const std::string& shell : shells()) {
    const ProbeFacts facts = run(shell);
    EXPECT_EQ(facts.get("nvidia_smi.error"), "a b [31m c") << shell;
    EXPECT_EQ(facts.get("torch.error").value().size(), probe_value_bytes_max) << shell;
  }
}

TEST_F(Probe, SaysThatPythonCrashed) {
  stub("python3", "#!/bin/sh\nkill -SEGV $$\n");

  const ProbeFacts facts = run("/bin/sh");

  EXPECT_TRUE(facts.is("torch", "failed"));
  EXPECT_TRUE(facts.is("torch.error", "python ended with status 139"));
}

TEST_F(Probe, FeedsItsScriptToNoProgram) {
  stub("nvidia-smi", "#!/bin/sh\nwhile read -r line; do echo \"$line\"; done\nexit 3\n");

  EXPECT_TRUE(run("/bin/sh").is("nvidia_smi.error", ""));
}

TEST_F(Probe, AsksARealTorchThroughARealPython) {
  if (!is_on_path("python3")) GTEST_SKIP() << "no python3";
  folder_.write("lib/torch/__init__.py",
                "import warnings\n"
                "__version__ = '2.9.0a0+50eac811a6.nv25.09'\n"
                "class version: cuda = '13.0'\n"
                "class cuda:\n"
                "  def is_available():\n"
                "    warnings.warn('CUDA initialization:\\nCUDA unknown error')\n"
                "    return False\n"
                "  def device_count(): return 0\n"
                "print('a banner of torch')\n");
  folder_.write("lib/unsloth_zoo-2026.7.2.dist-info/METADATA",
                "Metadata-Version: 2.1\nName: unsloth_zoo\nVersion: 2026.7.2\n");

  const ProbeFacts facts = run("/bin/sh", "PYTHONPATH=" + (folder_ / "lib").string(), ":\"$PATH\"");

  EXPECT_EQ(facts.get("torch"), "ok");
  EXPECT_EQ(facts.get("torch.version"), "2.9.0a0+50eac811a6.nv25.09");
  EXPECT_EQ(facts.get("torch.cuda"), "13.0");
  EXPECT_EQ(facts.get("torch.available"), "no");
  EXPECT_EQ(facts.get("torch.warning"), "CUDA initialization: CUDA unknown error");
  EXPECT_EQ(facts.get("package.unsloth-zoo"), "2026.7.2");
  EXPECT_EQ(facts.get("packages"), "complete");
}

TEST_F(Probe, TellsWhyTorchCannotBeImported) {
  if (!is_on_path("python3")) GTEST_SKIP() << "no python3";
  folder_.write(
      "lib/torch/__init__.py",
      "raise ImportError('libcudart.so.12: cannot open shared object file:\\n No such file')\n");

  const ProbeFacts facts = run("/bin/sh", "PYTHONPATH=" + (folder_ / "lib").string(), ":\"$PATH\"");

  EXPECT_EQ(facts.get("torch"), "failed");
  EXPECT_EQ(facts.get("torch.error"),
            "ImportError: libcudart.so.12: cannot open shared object file: No such file");
}

}  // namespace
}  // namespace sparkrun::preflight
