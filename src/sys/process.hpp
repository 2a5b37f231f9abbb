// SPDX-License-Identifier: MIT
#pragma once

#include "sys/signals.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sparkrun::sys {

// A program to start; never a shell string. The program is looked up on PATH.
struct ProcessSpec {
  std::vector<std::string> argv;
  std::vector<std::pair<std::string, std::string>> environment;  // added to our own
  std::optional<std::string> input;                              // nothing: /dev/null
  std::chrono::milliseconds timeout{60'000};
  size_t output_bytes_max = size_t{8} << 20;  // of each stream; the rest is dropped
  // Takes what comes, both streams as one, instead of the result; false ends the program.
  std::function<bool(std::string_view)> on_output = {};
  bool is_interruptible = true;  // of run(): a signal ends it, else it stays for others
  bool out_to_err = false;       // of start(): the child's stdout is our stderr
  bool is_in_our_place = false;  // of start(): JobSignals reach wait(), and we stop when it stops
};

struct ProcessResult {
  std::string out;
  std::string err;
  int exit = 0;    // 128 + n when it died of signal n, as a shell says it
  int signal = 0;  // 0: it exited
  bool timed_out = false;
  int spawn_errno = 0;  // not 0: it never started
  [[nodiscard]] bool is_success() const { return exit == 0 && !timed_out && spawn_errno == 0; }
};

// Programs joined as by `|` in a shell: each reads what the one before writes.
struct PipelineSpec {
  std::vector<std::vector<std::string>> commands;  // at least one
  bool takes_our_input = false;                    // the first one reads our stdin; else nothing
  bool gives_our_output = false;  // the last one writes to our stdout; else that is captured
  std::chrono::milliseconds timeout{60'000};
  size_t output_bytes_max = size_t{1} << 20;  // of each captured stream; the rest is dropped
};

// The one that is to blame: who writes to somebody that has ended dies of it (SIGPIPE), which is
// not the cause. Null: all went well.
const ProcessResult* first_failure(const std::vector<ProcessResult>& results);

struct ProcessEvent {
  enum class Kind { exited, signal, timeout };
  Kind kind = Kind::timeout;
  int exit = 0;         // of `exited`: as in ProcessResult
  int exit_signal = 0;  // of `exited`: what killed it, or 0
  Signal signal;        // of `signal`: what reached *us*; from_terminal: and the child, too
};

// A child that has our terminal and streams: the job itself. It is in our process group where that
// has a terminal to read from or to draw on. Else it has one of its own: what is sent to our whole
// group then reaches it once, through us, and not twice. It is killed when we are.
class ForegroundProcess {
 public:
  virtual ~ForegroundProcess() = default;
  // Blocks until the child ends, a signal for us arrives, or the time is up.
  virtual ProcessEvent wait(std::optional<std::chrono::milliseconds> timeout) = 0;
  virtual void send(int signal) = 0;
};

// The first of what a detached program finds open beside its three streams.
constexpr int handed_over_fd = 3;

// What we were given so is for none of our own children.
void keep_from_children(int fd);

class Processes {
 public:
  virtual ~Processes() = default;
  // Runs to the end. When a signal arrives meanwhile the child gets SIGTERM, then SIGKILL, and the
  // call throws `interrupted`.
  virtual ProcessResult run(const ProcessSpec& spec) = 0;
  // All at once, to the end of the last; a result for each that was tried to start. What a signal
  // does is as with run().
  virtual std::vector<ProcessResult> run_pipeline(const PipelineSpec& spec) = 0;
  // A program that outlives us: in / and a session of its own, without a terminal, its output
  // appended to `log` (made with mode 0600). It gets our descriptors `handed_over` as numbers 3, 4,
  // .., and no others. Throws `file.unwritable`, `engine.missing`.
  virtual void start_detached(const std::vector<std::string>& argv, const std::string& log,
                              const std::vector<int>& handed_over = {}) = 0;
  // Throws `engine.missing` when the program is not on PATH. No time limit, nothing captured.
  virtual std::unique_ptr<ForegroundProcess> start(const ProcessSpec& spec) = 0;
};

class PosixProcesses final : public Processes {
 public:
  explicit PosixProcesses(Signals& signals) : signals_(signals) {}
  ProcessResult run(const ProcessSpec& spec) override;
  std::vector<ProcessResult> run_pipeline(const PipelineSpec& spec) override;
  void start_detached(const std::vector<std::string>& argv, const std::string& log,
                      const std::vector<int>& handed_over) override;
  std::unique_ptr<ForegroundProcess> start(const ProcessSpec& spec) override;

 private:
  Signals& signals_;
};

}  // namespace sparkrun::sys
