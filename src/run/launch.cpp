// SPDX-License-Identifier: MIT
#include "run/launch.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "plan/argv.hpp"
#include "sys/files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <signal.h>
#include <utility>

namespace sparkrun::run {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds cidfile_interval{10};
constexpr milliseconds first_grace{10'000};
constexpr milliseconds second_grace{1'500};  // GitHub's runner kills 2.5 s after its second one
constexpr milliseconds echo_time{100};

// The others are the job's own affair.
bool asks_to_end(int signal) {
  return signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT;
}

// As `$(cat FILE)`: without the newline that editors put at the end.
std::string read_value(const std::string& name, const std::string& path) {
  constexpr size_t bytes_max = 64 << 10;
  std::string value = sys::read_file(path, bytes_max).value_or("");
  while (value.ends_with('\n')) value.pop_back();
  if (!value.empty() && value.find('\0') == std::string::npos) return value;
  throw Error{"file.unreadable",
              fmt::format("the value of `{}` is to come from {}, which {}", name, path,
                          value.empty() ? "is empty" : "holds a NUL"),
              {{"path", path}}};
}

// One job from start to end; see the contract in the header.
class Job {
 public:
  Job(const plan::LaunchExtras& extras, std::optional<std::chrono::seconds> limit,
      engine::Engine& engine, sys::System& system, const OnBound& on_bound)
      : extras_(extras), engine_(engine), system_(system), on_bound_(on_bound) {
    if (limit) limit_ = system_.clock.monotonic() + *limit;
  }

  Ended run(const std::vector<std::string>& argv) {
    const milliseconds start = system_.clock.monotonic();
    client_ = engine_.start(argv, extras_.client_environment);
    while (!has_ended_) step();
    look_for_container();
    ask_for_end();
    // A client that was sent a signal may just end, and so does one whose output nobody reads, or
    // that is killed: the job is not left to itself.
    if (still_runs_ && signals_ == 0) {
      ended_.warnings.push_back(engine_.name() + "'s client ended before the job did: stopped it");
    }
    if (still_runs_ || signals_ > 0) {
      stop_container(grace());
      ask_for_end();
    }
    if (ended_.has_timed_out) ended_.exit = timed_out_exit;
    ended_.duration = system_.clock.monotonic() - start;
    return ended_;
  }

 private:
  void step() {
    const sys::ProcessEvent event = client_->wait(patience());
    if (event.kind == sys::ProcessEvent::Kind::signal) return on_signal(event.signal);
    look_for_container();
    if (event.kind == sys::ProcessEvent::Kind::exited) {
      has_ended_ = true;
      ended_.exit = event.exit;
    } else if (deadline_ && system_.clock.monotonic() >= *deadline_) {
      stop_container(milliseconds{0});  // the time to end by itself is over
      deadline_.reset();
    } else if (limit_ && system_.clock.monotonic() >= *limit_) {
      limit_.reset();
      ended_.has_timed_out = true;
      on_signal({.number = SIGTERM});
    }
  }

  // How long to sleep: until the deadline, and in short steps while the container's id is awaited.
  [[nodiscard]] std::optional<milliseconds> patience() const {
    std::optional<milliseconds> left;
    for (const auto& end : {deadline_, limit_}) {
      if (!end) continue;
      const milliseconds until = std::max(milliseconds{0}, *end - system_.clock.monotonic());
      left = left ? std::min(*left, until) : until;
    }
    if (!ended_.container.empty()) return left;
    return left ? std::min(*left, cidfile_interval) : cidfile_interval;
  }

  void on_signal(const sys::Signal& signal) {
    if (is_echo(signal)) return;
    if (!signal.from_terminal) client_->send(signal.number);
    if (!asks_to_end(signal.number)) return;
    ended_.signal = sys::signal_name(signal.number);
    ++signals_;
    if (signals_ >= 3) return stop_container(grace());
    const bool sets_limit = signals_ == 2 || signal.number != SIGINT;
    if (sets_limit) deadline_ = system_.clock.monotonic() + grace();
  }

  // timeout(1) sends its signal to its child and to the child's group: one request, not two.
  bool is_echo(const sys::Signal& signal) {
    if (signal.from_terminal) return false;
    const milliseconds now = system_.clock.monotonic();
    const auto before = std::exchange(last_sent_, {signal.number, now});
    return before.first == signal.number && now - before.second < echo_time;
  }

  [[nodiscard]] milliseconds grace() const {
    return signals_ <= 1 ? first_grace : signals_ == 2 ? second_grace : milliseconds{0};
  }

  void look_for_container() {
    if (!ended_.container.empty()) return;
    const std::string id{trim(read_cidfile())};
    if (id.size() != 64) return;  // absent, or not fully written yet
    ended_.container = id;
    on_bound_(id, find_container());
  }

  // Nothing may leave this loop while the job runs; without the id the job is stopped by its name.
  [[nodiscard]] std::string read_cidfile() const {
    try {
      return sys::read_file(extras_.cidfile).value_or("");
    } catch (const Error&) {
      return {};
    }
  }

  // An engine that fails here must not hide how the job ended: what it does not answer stays
  // unknown.
  void stop_container(milliseconds grace) {
    const std::string& target = ended_.container.empty() ? extras_.name : ended_.container;
    try {
      if (ended_.container.empty() && !is_ours(target)) return;
      engine_.stop(target, std::chrono::duration_cast<std::chrono::seconds>(grace));
    } catch (const Error& error) {
      ended_.warnings.push_back(std::string{"the container may still run: "} + error.what());
    }
  }

  // Somebody else's container may have the name that was wanted for ours.
  bool is_ours(const std::string& name) {
    const auto state = engine_.find_container(name);
    return state && std::ranges::all_of(extras_.labels, [&](const auto& label) {
             const auto found = state->labels.find(label.first);
             return found != state->labels.end() && found->second == label.second;
           });
  }

  std::optional<engine::ContainerState> find_container() {
    try {
      is_engine_gone_ = false;
      return engine_.find_container(ended_.container);
    } catch (const Error& error) {
      is_engine_gone_ = error.id() == "engine.unreachable";
      return std::nullopt;
    }
  }

  void ask_for_end() {
    still_runs_ = false;
    if (ended_.container.empty()) return;
    const auto state = find_container();
    if (state) ended_.is_oom = state->is_oom_killed;
    still_runs_ = state && state->is_running;
    if (!is_engine_gone_ || ended_.exit == 0 || ended_.is_lost) return;
    ended_.is_lost = true;
    ended_.warnings.push_back("how the job ended is not known, and it may still run: " +
                              engine_.name() + " does not answer");
  }

  const plan::LaunchExtras& extras_;
  engine::Engine& engine_;
  sys::System& system_;
  const OnBound& on_bound_;
  std::unique_ptr<sys::ForegroundProcess> client_;
  Ended ended_;
  std::optional<milliseconds> deadline_;    // for a job that was asked to end
  std::optional<milliseconds> limit_;       // for one that was not
  std::pair<int, milliseconds> last_sent_;  // what was sent to us, and when
  int signals_ = 0;
  bool has_ended_ = false;
  bool still_runs_ = false;  // the container, after its client's end
  bool is_engine_gone_ = false;
};

}  // namespace

std::vector<std::pair<std::string, std::string>> read_file_variables(const plan::RunPlan& plan) {
  std::vector<std::pair<std::string, std::string>> values;
  for (const auto& [name, path] : plan.file_variables) {
    values.emplace_back(name, read_value(name, path));
  }
  return values;
}

Ended launch(const plan::RunPlan& plan, const plan::LaunchExtras& extras,
             std::optional<std::chrono::seconds> limit, engine::Engine& engine, sys::System& system,
             const OnBound& on_bound) {
  return Job{extras, limit, engine, system, on_bound}.run(plan::run_argv(plan, &extras));
}

}  // namespace sparkrun::run
