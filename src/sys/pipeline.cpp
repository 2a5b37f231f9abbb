// SPDX-License-Identifier: MIT
#include "base/error.hpp"
#include "sys/process.hpp"
#include "sys/spawn.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace sparkrun::sys {
namespace {

using std::chrono::milliseconds;
using Steady = std::chrono::steady_clock;

struct Child {
  pid_t pid = -1;  // -1: not there, or its end is known
  FileDescriptor pidfd, out, err;
  ProcessResult result;

  [[nodiscard]] bool is_over() const { return pid < 0 && !out.is_open() && !err.is_open(); }
  void reap() {
    int status = 0;
    if (waitpid(pid, &status, 0) == pid) set_exit(status, result.exit, result.signal);
    pid = -1;
  }
};

// All programs of one pipeline, from the first start to the last end. None outlives it.
class PipelineRun {
 public:
  PipelineRun(const PipelineSpec& spec, Signals& signals) : spec_(spec), signals_(signals) {}
  PipelineRun(const PipelineRun&) = delete;
  PipelineRun& operator=(const PipelineRun&) = delete;
  ~PipelineRun() { terminate(); }

  std::vector<ProcessResult> run() {
    signals_.throw_if_any();
    const bool has_started = start_all();
    const auto deadline = Steady::now() + spec_.timeout;
    while (has_started &&
           !std::ranges::all_of(children_, [](const Child& child) { return child.is_over(); })) {
      const auto left = std::chrono::duration_cast<milliseconds>(deadline - Steady::now());
      if (left.count() <= 0) {
        for (Child& child : children_) child.result.timed_out = child.pid > 0;
        break;
      }
      pump(left);
    }
    terminate();
    std::vector<ProcessResult> results;
    for (Child& child : children_) results.push_back(std::move(child.result));
    return results;
  }

 private:
  bool start_all() {
    FileDescriptor input;  // of the next one: what the one before writes
    for (size_t i = 0; i < spec_.commands.size(); ++i) {
      const bool is_last = i + 1 == spec_.commands.size();
      Pipe out, err;
      SpawnSettings settings;
      if (input.is_open())
        settings.connect(input.get(), STDIN_FILENO);
      else if (!spec_.takes_our_input)
        settings.connect_null(STDIN_FILENO);
      if (!is_last || !spec_.gives_our_output) {
        settings.connect(out.write_end.get(), STDOUT_FILENO);
      }
      settings.connect(err.write_end.get(), STDERR_FILENO);
      Child& child = children_.emplace_back();
      child.result.spawn_errno = settings.spawn({.argv = spec_.commands[i]}, child.pid);
      if (child.result.spawn_errno != 0) {
        child.pid = -1;
        child.result.exit = 127;
        return false;
      }
      child.pidfd = open_pidfd(child.pid);
      child.err = std::move(err.read_end);
      if (!is_last)
        input = std::move(out.read_end);
      else if (!spec_.gives_our_output)
        child.out = std::move(out.read_end);
    }
    return true;
  }

  void pump(milliseconds left) {
    std::vector<pollfd> watched = {{.fd = signals_.fd(), .events = POLLIN}};
    for (const Child& child : children_) {
      watched.push_back({.fd = child.pid > 0 ? child.pidfd.get() : -1, .events = POLLIN});
      watched.push_back({.fd = child.out.get(), .events = POLLIN});
      watched.push_back({.fd = child.err.get(), .events = POLLIN});
    }
    if (poll(watched.data(), watched.size(), static_cast<int>(left.count())) < 0) return;
    if (watched[0].revents != 0) signals_.throw_if_any();
    auto event = watched.begin();
    for (Child& child : children_) {
      if ((++event)->revents != 0) child.reap();
      if ((++event)->revents != 0) read_some(child.out, child.result.out, spec_.output_bytes_max);
      if ((++event)->revents != 0) read_some(child.err, child.result.err, spec_.output_bytes_max);
    }
  }

  void terminate() {
    for (const Child& child : children_) {
      if (child.pid > 0) kill(child.pid, SIGTERM);
    }
    const auto deadline = Steady::now() + termination_grace;
    for (Child& child : children_) {
      if (child.pid <= 0) continue;
      pollfd ended{.fd = child.pidfd.get(), .events = POLLIN};
      const auto left = std::chrono::duration_cast<milliseconds>(deadline - Steady::now());
      const int patience = std::max(0, static_cast<int>(left.count()));
      if (poll(&ended, 1, patience) <= 0) kill(child.pid, SIGKILL);
      child.reap();
    }
  }

  const PipelineSpec& spec_;
  Signals& signals_;
  std::deque<Child> children_;
};

}  // namespace

std::vector<ProcessResult> PosixProcesses::run_pipeline(const PipelineSpec& spec) {
  return PipelineRun{spec, signals_}.run();
}

const ProcessResult* first_failure(const std::vector<ProcessResult>& results) {
  const auto is_cause = [](const ProcessResult& result) {
    return !result.is_success() && result.signal != SIGPIPE;
  };
  auto found = std::ranges::find_if(results, is_cause);
  if (found == results.end()) {
    found = std::ranges::find_if(results, [](const auto& result) { return !result.is_success(); });
  }
  return found == results.end() ? nullptr : &*found;
}

}  // namespace sparkrun::sys
