// SPDX-License-Identifier: MIT
#pragma once

#include "profile/profile.hpp"
#include "sys/clock.hpp"
#include "sys/environment.hpp"
#include "sys/files.hpp"

#include <optional>
#include <string>
#include <vector>

namespace sparkrun::run {

namespace fs = std::filesystem;

// What has to be known of a run by whoever comes back to it: another sparkrun, or its waiter.
struct RunNote {
  std::string run;        // ULID
  std::string profile;    // name
  std::string container;  // name
  std::string engine;     // docker, podman
  std::vector<std::string> engine_command;
  std::string engine_host;  // of docker: what its client was told to talk to
  std::string boot;         // boot id of the host when it was started
  bool is_detached = false;
  bool is_exclusive = false;
  bool removes = false;   // a detached run's waiter removes the container at its end
  long long limit_s = 0;  // --timeout; 0: none
  std::string launched;   // RFC 3339: from when on that counts
  std::optional<profile::Readiness> ready;
  std::string status_file;  // that a detached run's waiter writes at the end; empty: none
};

// `runs/RUN/` in the state folder: what is kept of a run while it goes on, and of a detached one
// afterwards. The folder is locked by whoever stays with the run, so that a run without one shows.
class RunFolder {
 public:
  // Makes it and holds it. Throws `file.unwritable`.
  static RunFolder make(const sys::Environment& environment, RunNote note);
  // Nothing where there is none, or its note cannot be read. `run` is a ULID.
  static std::optional<RunFolder> find(const sys::Environment& environment, const std::string& run);

  [[nodiscard]] const RunNote& note() const { return note_; }
  [[nodiscard]] const fs::path& path() const { return path_; }
  [[nodiscard]] fs::path cidfile() const { return path_ / "cid"; }
  [[nodiscard]] fs::path log() const { return path_ / "log"; }  // of the job, once it has ended
  [[nodiscard]] fs::path description() const { return path_ / "inspect.json"; }  // the same
  [[nodiscard]] fs::path waiter_log() const { return path_ / "waiter.log"; }
  // When the job was started last, as far as its waiter knows.
  [[nodiscard]] fs::path known_start() const { return path_ / "started"; }
  [[nodiscard]] fs::path ready_mark() const { return path_ / "ready"; }  // the job is, or is late

  // The container's id; its name where the engine has not said that it created it.
  [[nodiscard]] std::string container() const;
  // Whether it is one that the waiter still has to remove.
  [[nodiscard]] bool has_container() const;
  // Of a run in the background: its end is recorded, and what is kept of it lies here.
  [[nodiscard]] bool has_ended() const;
  // Whether somebody stays with the run.
  [[nodiscard]] bool has_holder() const;
  // Waits until whoever held it is gone. Throws `file.unwritable`.
  void hold();
  // False: somebody else holds it.
  bool try_hold();
  // Holds it by a descriptor that whoever held it has handed over; any other one is left alone.
  void take_over(int fd);
  // Of the lock, to be handed over; -1: it is not held.
  [[nodiscard]] int lock_fd() const { return lock_.get(); }
  void remove();

 private:
  RunFolder(fs::path path, RunNote note) : path_(std::move(path)), note_(std::move(note)) {}

  fs::path path_;
  RunNote note_;
  sys::FileDescriptor lock_;
};

// All of this user, oldest first.
std::vector<RunFolder> run_folders(const sys::Environment& environment);

// Removes, of `folders`, what ended in the background longer than `kept` ago.
void remove_old(std::vector<RunFolder>& folders, const sys::Clock& clock,
                std::chrono::seconds kept);

}  // namespace sparkrun::run
