// SPDX-License-Identifier: MIT
#include "run/readiness.hpp"

#include "audit/record.hpp"
#include "base/error.hpp"
#include "base/json_value.hpp"
#include "base/regex.hpp"
#include "base/text.hpp"
#include "base/time.hpp"
#include "run/background.hpp"
#include "sys/files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace sparkrun::run {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds shortest_pause{100};
constexpr milliseconds longest_pause{1'000};

// Of a body nothing is wanted, however long it is: that it comes is enough.
class AnySink final : public sys::HttpSink {
 public:
  [[nodiscard]] long long offset() const override { return 0; }
  void restart() override { has_come_ = true; }
  bool take(std::string_view /*bytes*/) override { return false; }
  [[nodiscard]] std::optional<Error> failure() const override { return std::nullopt; }
  [[nodiscard]] bool has_come() const { return has_come_; }

 private:
  bool has_come_ = false;
};

// Looks for a line that fits, in pieces as they come.
class LineSearch {
 public:
  explicit LineSearch(const std::string& pattern) : pattern_(pattern) {}

  // Whether it was found, in this piece or before. What a progress bar overwrites is a line, too.
  bool take(std::string_view piece) {
    constexpr size_t line_bytes_max = size_t{64} << 10;
    for (const char c : piece) {
      if (has_found_) break;
      if (c == '\n' || c == '\r')
        end_line();
      else if (line_.size() < line_bytes_max)
        line_ += c;
    }
    return has_found_;
  }
  // What came last may lack the end of its line.
  bool end() { return line_.empty() ? has_found_ : end_line(); }

 private:
  bool end_line() {
    has_found_ = has_found_ || pattern_.is_in(line_);
    line_.clear();
    return has_found_;
  }

  Regex pattern_;
  std::string line_;
  bool has_found_ = false;
};

// Whoever stays with the run says so; where nobody does, the engine is asked.
bool is_over(const RunFolder& folder, engine::Engine& engine) {
  if (!sys::path_exists(folder.path()) || folder.has_ended()) return true;
  if (folder.has_holder()) return false;
  try {
    const auto state = engine.find_container(folder.container());
    return !state || !state->is_running;
  } catch (const Error& error) {
    if (error.exit_code() != ExitCode::engine) throw;
    return false;  // it is being restarted
  }
}

class Watch {
 public:
  Watch(const RunFolder& folder, engine::Engine& engine, sys::System& system)
      : folder_(folder),
        ready_(*folder.note().ready),
        engine_(engine),
        system_(system),
        start_(system.clock.monotonic()) {}

  // Nothing: the job has ended.
  std::optional<ReadyState> run() {
    milliseconds pause = shortest_pause;
    while (true) {
      const bool is_ready = ready_.log.empty() ? answers(ready_.http, system_.http) : prints_line();
      // Somebody else may answer at the port of a job that found it taken.
      if ((!is_ready || ready_.log.empty()) && is_over(folder_, engine_)) return std::nullopt;
      if (is_ready) return ReadyState::ready;
      if (elapsed() >= ready_.timeout) return ReadyState::late;
      system_.clock.sleep(pause);
      system_.terminal.throw_if_interrupted();
      pause = std::min(2 * pause, longest_pause);
    }
  }

  [[nodiscard]] milliseconds elapsed() const { return system_.clock.monotonic() - start_; }

 private:
  // Stays until the line has come, the container has ended or the time is up.
  bool prints_line() {
    LineSearch search{ready_.log};
    const milliseconds left = milliseconds{ready_.timeout} - elapsed();
    engine_.follow_output(folder_.container(), std::max(left, milliseconds{1}),
                          [&](std::string_view piece) { return !search.take(piece); });
    return search.end();
  }

  const RunFolder& folder_;
  const profile::Readiness& ready_;
  engine::Engine& engine_;
  sys::System& system_;
  milliseconds start_;
};

std::vector<std::string> last_lines(const RunFolder& folder, engine::Engine& engine) {
  constexpr size_t lines_max = 20;
  constexpr size_t line_length_max = 500;
  const std::string text = sys::read_file(folder.log()).value_or("");
  const std::string output = text.empty() ? engine.last_output(folder.container()) : text;
  std::vector<std::string> lines;
  for (const std::string_view line : split(trim(output), '\n'))
    lines.emplace_back(trim(line).substr(0, line_length_max));
  if (lines.size() > lines_max) lines.erase(lines.begin(), lines.end() - lines_max);
  return lines;
}

[[noreturn]] void fail_ended(const RunFolder& folder, engine::Engine& engine, sys::System& system) {
  await_keeper(folder, system, milliseconds{10'000});  // it may be saving what the job printed
  const auto description = parse_json(sys::read_file(folder.description()).value_or(""));
  const long long exit =
      description ? integer_or(member(*description, "State"), "ExitCode", -1) : -1;
  const std::string& run = folder.note().run;
  throw Error{"run.ended_early",
              fmt::format("run {} ended before it was ready ({})", run,
                          exit < 0 ? "how is not known" : fmt::format("exit {}", exit)),
              {{"run", run}},
              last_lines(folder, engine)};
}

}  // namespace

// Any answer from 200 to 399 is a yes, as for the probes of Kubernetes.
bool answers(const std::string& url, sys::Http& http) {
  AnySink sink;
  const sys::HttpResponse response = http.send(
      {.url = url,
       .limits = {.connect_timeout = milliseconds{1'000}, .total_timeout = milliseconds{5'000}},
       .sink = &sink});
  return sink.has_come() || (response.status >= 200 && response.status < 400);
}

std::string_view to_string(ReadyState state) {
  constexpr std::array<std::string_view, 4> names = {"-", "no", "yes", "late"};
  return names.at(static_cast<size_t>(state));
}

ReadyState ready_state(const RunFolder& folder) {
  if (!folder.note().ready) return ReadyState::not_asked;
  const std::string mark = sys::read_file(folder.ready_mark()).value_or("");
  if (mark.empty()) return ReadyState::not_yet;
  return trim(mark) == "yes" ? ReadyState::ready : ReadyState::late;
}

bool start_watcher(const RunFolder& folder, sys::System& system) {
  if (!folder.note().ready) return true;
  try {
    system.processes.start_detached({"/proc/self/exe", "__ready", folder.note().run},
                                    folder.waiter_log().string());
    return true;
  } catch (const Error&) {
    return false;
  }
}

void watch_readiness(const RunFolder& folder, engine::Engine& engine, Recorder& recorder,
                     sys::System& system) {
  constexpr mode_t private_file = 0600;
  if (!folder.note().ready) return;
  Watch watch{folder, engine, system};
  const auto state = watch.run();
  if (!state) return;
  if (*state == ReadyState::ready)
    recorder.append_or_warn(audit::run_ready(folder.note().run, watch.elapsed()));
  // The folder of a run in front may be gone by now, and must not come back.
  if (sys::path_exists(folder.path()))
    sys::write_file_atomically(folder.ready_mark(), fmt::format("{}\n", to_string(*state)),
                               private_file);
}

void wait_until_ready(const RunFolder& folder, engine::Engine& engine, sys::System& system) {
  constexpr milliseconds step{50};
  constexpr milliseconds spare{6'000};  // for a watcher that was killed
  const auto timeout = folder.note().ready->timeout;
  const milliseconds end = system.clock.monotonic() + timeout + spare;
  while (true) {
    const ReadyState state = ready_state(folder);
    if (state == ReadyState::ready) return;
    if (is_over(folder, engine)) {
      if (ready_state(folder) == ReadyState::ready) return;  // in between
      fail_ended(folder, engine, system);
    }
    if (state == ReadyState::late || system.clock.monotonic() >= end) {
      throw Error{"run.not_ready",
                  fmt::format("run {} was not ready within {}; it goes on", folder.note().run,
                              human_duration(timeout)),
                  {{"run", folder.note().run}}};
    }
    system.clock.sleep(step);
    system.terminal.throw_if_interrupted();
  }
}

}  // namespace sparkrun::run
