// SPDX-License-Identifier: MIT
#pragma once

#include "sys/files.hpp"
#include "sys/process.hpp"

#include <chrono>
#include <spawn.h>
#include <string>
#include <vector>

// What the ways to run a program share; for sys/ alone.
namespace sparkrun::sys {

// Between SIGTERM and SIGKILL.
constexpr std::chrono::milliseconds termination_grace{2'000};

struct Pipe {
  FileDescriptor read_end, write_end;
  Pipe();
};

// posix_spawn's two attribute objects, released together. The child gets default signal handling.
class SpawnSettings {
 public:
  SpawnSettings();
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;
  ~SpawnSettings();
  void connect(int ours, int theirs);
  void connect_null(int theirs);
  void close_from(int theirs);
  void leave_session();  // the child leads one of its own
  void leave_folder();   // and works in /

  // 0, or the errno of the failure.
  int spawn(const ProcessSpec& spec, pid_t& pid) const;

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

// A child that has our streams and dies with us, whatever kills us. 0, or the errno of the failure.
int spawn_bound(const ProcessSpec& spec, bool has_own_group, pid_t& pid);

// Without it nobody would notice the child's end, so a child that has none is not kept.
FileDescriptor open_pidfd(pid_t pid);

// Of a status that waitpid gave, as in ProcessResult.
void set_exit(int status, int& exit, int& signal);

// Appends what there is to read, as far as `into` may grow; closes `from` at its end.
void read_some(FileDescriptor& from, std::string& into, size_t bytes_max);

}  // namespace sparkrun::sys
