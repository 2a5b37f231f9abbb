// SPDX-License-Identifier: MIT
#pragma once

#include "base/error.hpp"
#include "support/fake_clock.hpp"
#include "sys/process.hpp"

#include <algorithm>
#include <cerrno>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sparkrun::test {

// What happens to a job in the foreground, step by step, and what was done to it. The test owns it.
class ForegroundScript {
 public:
  using Milliseconds = std::chrono::milliseconds;

  // With a clock, a wait that ends by its timeout takes that long.
  explicit ForegroundScript(FakeClock* clock = nullptr) : clock_(clock) {}

  // Done just before the next step is reported: the engine writes a file, time passes.
  ForegroundScript& first(std::function<void()> action) {
    actions_.push_back(std::move(action));
    return *this;
  }
  ForegroundScript& signal(int number, bool from_terminal = false) {
    return add({.kind = sys::ProcessEvent::Kind::signal, .signal = {number, from_terminal}});
  }
  ForegroundScript& time_out() { return add({.kind = sys::ProcessEvent::Kind::timeout}); }
  ForegroundScript& exit(int code, int by_signal = 0) {
    return add({.kind = sys::ProcessEvent::Kind::exited, .exit = code, .exit_signal = by_signal});
  }

  sys::ProcessEvent next(std::optional<Milliseconds> timeout) {
    waits.push_back(timeout);
    if (steps_.empty()) throw Error{"bug", "the script of the foreground process is over"};
    const Step step = std::move(steps_.front());
    steps_.pop_front();
    for (const auto& action : step.actions) action();
    if (step.event.kind == sys::ProcessEvent::Kind::timeout && clock_ != nullptr && timeout) {
      clock_->advance(*timeout);
    }
    return step.event;
  }

  [[nodiscard]] bool is_over() const { return steps_.empty(); }

  std::vector<int> sent;                           // signals to the child
  std::vector<std::optional<Milliseconds>> waits;  // the timeouts that were asked for

 private:
  struct Step {
    sys::ProcessEvent event;
    std::vector<std::function<void()>> actions;
  };
  ForegroundScript& add(const sys::ProcessEvent& event) {
    steps_.push_back({event, std::exchange(actions_, {})});
    return *this;
  }

  FakeClock* clock_;
  std::deque<Step> steps_;
  std::vector<std::function<void()>> actions_;
};

class FakeForegroundProcess final : public sys::ForegroundProcess {
 public:
  explicit FakeForegroundProcess(ForegroundScript& script) : script_(script) {}
  sys::ProcessEvent wait(std::optional<std::chrono::milliseconds> timeout) override {
    return script_.next(timeout);
  }
  void send(int signal) override { script_.sent.push_back(signal); }

 private:
  ForegroundScript& script_;
};

// Starts nothing: answers by the first words of a command line and records every spec. What no rule
// fits is not on PATH.
class FakeProcesses final : public sys::Processes {
 public:
  // Of the rules that fit, the last one counts.
  void on(std::vector<std::string> first_words, sys::ProcessResult result) {
    rules_.emplace_back(std::move(first_words), std::move(result));
  }

  sys::ProcessResult run(const sys::ProcessSpec& spec) override {
    ran.push_back(spec);
    for (auto rule = rules_.rbegin(); rule != rules_.rend(); ++rule) {
      const auto& [words, result] = *rule;
      if (words.size() <= spec.argv.size() &&
          std::equal(words.begin(), words.end(), spec.argv.begin())) {
        return result;
      }
    }
    return {.exit = 127, .spawn_errno = ENOENT};
  }

  // Each program by its own rule.
  std::vector<sys::ProcessResult> run_pipeline(const sys::PipelineSpec& spec) override {
    pipelines.push_back(spec);
    std::vector<sys::ProcessResult> results;
    for (const auto& command : spec.commands) results.push_back(run({.argv = command}));
    return results;
  }

  void start_detached(const std::vector<std::string>& argv, const std::string& log,
                      const std::vector<int>& handed_over) override {
    if (!starts_detached) throw Error{"engine.missing", "cannot start `" + argv.at(0) + "`"};
    detached.emplace_back(argv, log);
    handed = handed_over.size();
  }

  std::unique_ptr<sys::ForegroundProcess> start(const sys::ProcessSpec& spec) override {
    started.push_back(spec);
    if (script == nullptr) throw Error{"engine.missing", "cannot start `" + spec.argv.at(0) + "`"};
    return std::make_unique<FakeForegroundProcess>(*script);
  }

  std::vector<sys::ProcessSpec> ran;
  std::vector<sys::ProcessSpec> started;
  std::vector<sys::PipelineSpec> pipelines;
  std::vector<std::pair<std::vector<std::string>, std::string>> detached;  // argv, log
  bool starts_detached = true;
  size_t handed = 0;                   // to the last of them
  ForegroundScript* script = nullptr;  // of what is started

 private:
  std::vector<std::pair<std::vector<std::string>, sys::ProcessResult>> rules_;
};

}  // namespace sparkrun::test
