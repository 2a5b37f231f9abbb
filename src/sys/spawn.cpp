// SPDX-License-Identifier: MIT
#include "sys/spawn.hpp"

#include "base/error.hpp"
#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace sparkrun::sys {
namespace {

std::vector<char*> pointers(const std::vector<std::string>& strings) {
  std::vector<char*> result;
  for (const std::string& string : strings) result.push_back(const_cast<char*>(string.c_str()));
  result.push_back(nullptr);
  return result;
}

std::vector<std::string> environment_of(const ProcessSpec& spec) {
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view name = split_once(*entry, '=').first;
    const bool is_replaced = std::ranges::any_of(
        spec.environment, [&](const auto& variable) { return variable.first == name; });
    if (!is_replaced) environment.emplace_back(*entry);
  }
  for (const auto& [name, value] : spec.environment)
    environment.push_back(fmt::format("{}={}", name, value));
  return environment;
}

}  // namespace

Pipe::Pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw Error{"bug", "no pipe: too many open files"};
  read_end = FileDescriptor{ends[0]};
  write_end = FileDescriptor{ends[1]};
}

SpawnSettings::SpawnSettings() {
  posix_spawn_file_actions_init(&actions_);
  posix_spawnattr_init(&attributes_);
  sigset_t none, defaults;
  sigemptyset(&none);
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGPIPE);
  posix_spawnattr_setsigmask(&attributes_, &none);
  posix_spawnattr_setsigdefault(&attributes_, &defaults);
  posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
}

SpawnSettings::~SpawnSettings() {
  posix_spawn_file_actions_destroy(&actions_);
  posix_spawnattr_destroy(&attributes_);
}

void SpawnSettings::connect(int ours, int theirs) {
  posix_spawn_file_actions_adddup2(&actions_, ours, theirs);
}

void SpawnSettings::connect_null(int theirs) {
  posix_spawn_file_actions_addopen(&actions_, theirs, "/dev/null", O_RDONLY, 0);
}

void SpawnSettings::close_from(int theirs) {
  posix_spawn_file_actions_addclosefrom_np(&actions_, theirs);
}

void SpawnSettings::leave_folder() { posix_spawn_file_actions_addchdir_np(&actions_, "/"); }

void SpawnSettings::leave_session() {
  posix_spawnattr_setflags(&attributes_,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
}

int SpawnSettings::spawn(const ProcessSpec& spec, pid_t& pid) const {
  return posix_spawnp(&pid, spec.argv.at(0).c_str(), &actions_, &attributes_,
                      pointers(spec.argv).data(), pointers(environment_of(spec)).data());
}

// By hand, since posix_spawn knows no parent-death signal. Between fork and exec only what is safe
// after a signal may be called.
int spawn_bound(const ProcessSpec& spec, bool has_own_group, pid_t& pid) {
  const std::vector<std::string> environment = environment_of(spec);
  const std::vector<char*> argv = pointers(spec.argv), variables = pointers(environment);
  Pipe failure;  // closed by exec
  const pid_t parent = getpid();
  pid = fork();
  if (pid < 0) return errno;
  if (pid == 0) {
    if (has_own_group) setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(127);
    if (spec.out_to_err) dup2(STDERR_FILENO, STDOUT_FILENO);
    signal(SIGPIPE, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    execvpe(argv[0], argv.data(), variables.data());
    const int code = errno;
    [[maybe_unused]] const ssize_t written = write(failure.write_end.get(), &code, sizeof code);
    _exit(127);
  }
  failure.write_end.close();
  int code = 0;
  ssize_t got = -1;
  while ((got = read(failure.read_end.get(), &code, sizeof code)) < 0 && errno == EINTR) continue;
  if (got != static_cast<ssize_t>(sizeof code)) return 0;
  waitpid(pid, nullptr, 0);
  return code;
}

FileDescriptor open_pidfd(pid_t pid) {
  // The call itself: glibc has a wrapper only since 2.36.
  FileDescriptor fd{static_cast<int>(syscall(SYS_pidfd_open, pid, 0))};
  if (fd.is_open()) return fd;
  const int failure = errno;
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
  throw Error{"bug", fmt::format("the kernel gives no pidfd: {}", std::strerror(failure))};
}

void set_exit(int status, int& exit, int& signal) {
  signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  exit = signal != 0 ? 128 + signal : WEXITSTATUS(status);
}

void read_some(FileDescriptor& from, std::string& into, size_t bytes_max) {
  std::array<char, 65536> buffer;
  const ssize_t got = read(from.get(), buffer.data(), buffer.size());
  if (got < 0 && errno == EINTR) return;
  if (got <= 0) return from.close();
  into.append(buffer.data(), std::min(static_cast<size_t>(got), bytes_max - into.size()));
}

}  // namespace sparkrun::sys
