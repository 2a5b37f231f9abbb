// SPDX-License-Identifier: MIT
#include "sys/process.hpp"

#include "base/error.hpp"
#include "sys/spawn.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace sparkrun::sys {
namespace {

using std::chrono::milliseconds;
using Steady = std::chrono::steady_clock;

// One child with captured streams, from start to the end of its output.
class CapturedRun {
 public:
  CapturedRun(const ProcessSpec& spec, Signals& signals) : spec_(spec), signals_(signals) {}

  ProcessResult run() {
    if (!start()) return result_;
    const auto deadline = Steady::now() + spec_.timeout;
    while (out_.is_open() || err_.is_open() || !has_ended_) {
      const auto left = std::chrono::duration_cast<milliseconds>(deadline - Steady::now());
      if (left.count() <= 0) {
        result_.timed_out = true;
        terminate();
        return result_;
      }
      pump(left);
    }
    return result_;
  }

 private:
  bool start() {
    Pipe out, err, in;
    SpawnSettings settings;
    if (spec_.input)
      settings.connect(in.read_end.get(), STDIN_FILENO);
    else
      settings.connect_null(STDIN_FILENO);
    settings.connect(out.write_end.get(), STDOUT_FILENO);
    settings.connect(spec_.on_output ? STDOUT_FILENO : err.write_end.get(), STDERR_FILENO);
    result_.spawn_errno = settings.spawn(spec_, pid_);
    if (result_.spawn_errno != 0) {
      result_.exit = 127;
      return false;
    }
    pidfd_ = open_pidfd(pid_);
    out_ = std::move(out.read_end);
    err_ = std::move(err.read_end);
    if (spec_.input) {
      in_ = std::move(in.write_end);
      fcntl(in_.get(), F_SETFL, O_NONBLOCK);
      input_left_ = *spec_.input;
    }
    return true;
  }

  void pump(milliseconds left) {
    std::array<pollfd, 5> watched = {
        {{.fd = out_.get(), .events = POLLIN},
         {.fd = err_.get(), .events = POLLIN},
         {.fd = in_.get(), .events = POLLOUT},
         {.fd = has_ended_ ? -1 : pidfd_.get(), .events = POLLIN},
         {.fd = spec_.is_interruptible ? signals_.fd() : -1, .events = POLLIN}}};
    if (poll(watched.data(), watched.size(), static_cast<int>(left.count())) < 0) return;
    if (watched[4].revents != 0) interrupt();
    if (watched[0].revents != 0) take_output();
    if (watched[1].revents != 0) read_some(err_, result_.err, spec_.output_bytes_max);
    if (watched[2].revents != 0) write_some();
    if (watched[3].revents != 0 && !has_ended_) reap();
  }

  void take_output() {
    read_some(out_, result_.out, spec_.output_bytes_max);
    if (!spec_.on_output) return;
    const std::string piece = std::exchange(result_.out, {});
    if (piece.empty() || spec_.on_output(piece)) return;
    out_.close();
    err_.close();
    terminate();
  }

  void write_some() {
    const ssize_t written = write(in_.get(), input_left_.data(), input_left_.size());
    if (written > 0) input_left_.remove_prefix(static_cast<size_t>(written));
    if (input_left_.empty() || (written < 0 && errno != EAGAIN && errno != EINTR)) in_.close();
  }

  void reap() {
    int status = 0;
    if (waitpid(pid_, &status, 0) != pid_) return;
    set_exit(status, result_.exit, result_.signal);
    has_ended_ = true;
  }

  void interrupt() {
    const auto signal = signals_.take();
    if (!signal) return;
    terminate();
    throw Error{"interrupted", "interrupted by " + signal_name(signal->number)};
  }

  void terminate() {
    if (has_ended_) return;
    kill(pid_, SIGTERM);
    pollfd ended{.fd = pidfd_.get(), .events = POLLIN};
    if (poll(&ended, 1, static_cast<int>(termination_grace.count())) <= 0) kill(pid_, SIGKILL);
    reap();
  }

  const ProcessSpec& spec_;
  Signals& signals_;
  ProcessResult result_;
  pid_t pid_ = -1;
  FileDescriptor pidfd_, out_, err_, in_;
  std::string_view input_left_;
  bool has_ended_ = false;
};

class PosixForegroundProcess final : public ForegroundProcess {
 public:
  // `job_signals` may be null.
  PosixForegroundProcess(pid_t pid, bool is_in_our_group, Signals& signals,
                         std::unique_ptr<JobSignals> job_signals)
      : pid_(pid),
        is_in_our_group_(is_in_our_group),
        pidfd_(open_pidfd(pid)),
        signals_(signals),
        job_signals_(std::move(job_signals)) {}
  PosixForegroundProcess(const PosixForegroundProcess&) = delete;
  PosixForegroundProcess& operator=(const PosixForegroundProcess&) = delete;

  ProcessEvent wait(std::optional<milliseconds> timeout) override {
    std::array<pollfd, 3> watched = {
        {{.fd = pidfd_.get(), .events = POLLIN},
         {.fd = signals_.fd(), .events = POLLIN},
         {.fd = job_signals_ ? job_signals_->fd() : -1, .events = POLLIN}}};
    const int patience = timeout ? static_cast<int>(timeout->count()) : -1;
    while (poll(watched.data(), watched.size(), patience) < 0) {
      if (errno != EINTR) throw Error{"bug", "cannot wait for the engine's client"};
    }
    if (watched[0].revents != 0) return reap();
    std::optional<Signal> signal;
    if (watched[1].revents != 0) signal = signals_.take();
    if (!signal && watched[2].revents != 0) signal = job_signals_->take();
    if (signal && signal->number == SIGCHLD) {
      stop_with_child();
      signal.reset();
    }
    if (!signal) return {.kind = ProcessEvent::Kind::timeout};
    signal->from_terminal &= is_in_our_group_;
    return {.kind = ProcessEvent::Kind::signal, .signal = *signal};
  }

  void send(int signal) override {
    if (pid_ > 0) kill(pid_, signal);
  }

 private:
  // A shell that waits for us sees that the job has stopped, and its `fg` is for both.
  void stop_with_child() {
    siginfo_t change{};
    if (waitid(P_PID, static_cast<id_t>(pid_), &change, WSTOPPED | WNOHANG) == 0 &&
        change.si_pid == pid_) {
      kill(getpid(), SIGSTOP);
    }
  }

  ProcessEvent reap() {
    int status = 0;
    ProcessEvent event{.kind = ProcessEvent::Kind::exited};
    if (pid_ > 0 && waitpid(pid_, &status, 0) == pid_)
      set_exit(status, event.exit, event.exit_signal);
    pid_ = -1;
    return event;
  }

  pid_t pid_;
  bool is_in_our_group_;
  FileDescriptor pidfd_;
  Signals& signals_;
  std::unique_ptr<JobSignals> job_signals_;
};

}  // namespace

void keep_from_children(int fd) { fcntl(fd, F_SETFD, FD_CLOEXEC); }

ProcessResult PosixProcesses::run(const ProcessSpec& spec) {
  return CapturedRun{spec, signals_}.run();
}

void PosixProcesses::start_detached(const std::vector<std::string>& argv, const std::string& log,
                                    const std::vector<int>& handed_over) {
  const FileDescriptor out{
      open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600)};
  if (!out.is_open()) {
    throw Error{"file.unwritable",
                fmt::format("cannot write to {}: {}", log, std::strerror(errno))};
  }
  SpawnSettings settings;
  settings.leave_session();
  settings.leave_folder();
  settings.connect_null(STDIN_FILENO);
  settings.connect(out.get(), STDOUT_FILENO);
  settings.connect(out.get(), STDERR_FILENO);
  std::vector<FileDescriptor> copies;  // out of the way of the numbers that they get
  int next = handed_over_fd;
  for (const int fd : handed_over) {
    constexpr int out_of_the_way = 64;
    copies.emplace_back(fcntl(fd, F_DUPFD_CLOEXEC, out_of_the_way));
    settings.connect(copies.back().get(), next++);
  }
  // Whoever waits for a pipe that our own caller gave us must not wait for it.
  settings.close_from(next);
  pid_t pid = -1;
  const ProcessSpec spec{.argv = argv};
  if (const int failure = settings.spawn(spec, pid); failure != 0) {
    throw Error{"engine.missing",
                fmt::format("cannot start `{}`: {}", argv.at(0), std::strerror(failure))};
  }
}

std::unique_ptr<ForegroundProcess> PosixProcesses::start(const ProcessSpec& spec) {
  signals_.throw_if_any();  // what came before the child exists is not for the child
  pid_t pid = -1;
  const bool has_terminal = isatty(STDIN_FILENO) == 1 || isatty(STDOUT_FILENO) == 1;
  auto job_signals = spec.is_in_our_place ? std::make_unique<JobSignals>() : nullptr;
  if (const int failure = spawn_bound(spec, !has_terminal, pid); failure != 0) {
    throw Error{"engine.missing",
                fmt::format("cannot start `{}`: {}", spec.argv.at(0), std::strerror(failure))};
  }
  return std::make_unique<PosixForegroundProcess>(pid, has_terminal, signals_,
                                                  std::move(job_signals));
}

}  // namespace sparkrun::sys
