// SPDX-License-Identifier: MIT
#include "run/exclusive.hpp"

#include "base/error.hpp"
#include "base/json_value.hpp"
#include "base/text.hpp"
#include "base/time.hpp"
#include "base/ulid.hpp"
#include "run/extras.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sparkrun::run {
namespace {

using std::chrono::milliseconds;

// Whom we wait for.
struct Holder {
  std::string run;
  std::string profile;
  std::optional<TimePoint> since;
};

std::string describe(const Holder& holder, const sys::Clock& clock) {
  if (!is_ulid(holder.run)) return "another run";
  std::string text = fmt::format("run {} ({}", holder.run, one_line(holder.profile));
  if (holder.since) {
    text +=
        ", " + human_duration(std::max(milliseconds{0}, std::chrono::duration_cast<milliseconds>(
                                                            clock.now() - *holder.since)));
  }
  return text + ")";
}

class Claim {
 public:
  Claim(const Prepared& prepared, engine::Engine& engine, sys::System& system,
        const config::Settings& settings, const std::function<void(const std::string&)>& say)
      : prepared_(prepared),
        engine_(engine),
        system_(system),
        say_(say),
        lock_(settings.text("gpu_lock")),
        end_(system.clock.monotonic() + *prepared.exclusive) {}

  sys::SharedLock take() {
    constexpr milliseconds step{200};
    while (!lock_.try_take()) {
      wait_for(read_holder());
      system_.clock.sleep(std::min(step, left()));
      system_.terminal.throw_if_interrupted();
    }
    note_holder(lock_, prepared_.id, prepared_.plan.profile.name, system_.clock);
    while (const auto container = find_orphan()) {
      wait_for({.run = label(*container, run_label),
                .profile = label(*container, profile_label),
                .since = parse_rfc3339(container->started)});
      engine_.wait(container->id, std::max(left(), milliseconds{1}));
    }
    return std::move(lock_);
  }

 private:
  [[nodiscard]] milliseconds left() const { return end_ - system_.clock.monotonic(); }

  // Says for whom, once, or that it has taken too long.
  void wait_for(const Holder& holder) {
    const std::string patience =
        human_duration(std::chrono::duration_cast<milliseconds>(*prepared_.exclusive));
    if (left() <= milliseconds{0}) {
      throw Error{"run.gpu_busy", fmt::format("{} still has the GPU after {}",
                                              describe(holder, system_.clock), patience)};
    }
    if (has_said_ && holder.run == said_) return;
    say_(fmt::format("waiting for the GPU: {}; up to {}", describe(holder, system_.clock),
                     patience));
    has_said_ = true;
    said_ = holder.run;
  }

  Holder read_holder() {
    const auto json = parse_json(lock_.content());
    if (!json || !json->is_object()) return {};
    return {.run = string_or(*json, "run"),
            .profile = string_or(*json, "profile"),
            .since = parse_rfc3339(string_or(*json, "since"))};
  }

  // An exclusive run that goes on although nobody has the lock.
  std::optional<engine::ContainerState> find_orphan() {
    const auto containers = engine_.list_containers(std::string{exclusive_label});
    const auto found = std::ranges::find(containers, true, &engine::ContainerState::is_running);
    return found == containers.end() ? std::nullopt : std::optional{*found};
  }

  const Prepared& prepared_;
  engine::Engine& engine_;
  sys::System& system_;
  const std::function<void(const std::string&)>& say_;
  sys::SharedLock lock_;
  milliseconds end_;
  bool has_said_ = false;
  std::string said_;
};

}  // namespace

void note_holder(sys::SharedLock& lock, const std::string& run, const std::string& profile,
                 const sys::Clock& clock) {
  lock.set_content(
      to_json_line(Json{{"run", run}, {"profile", profile}, {"since", to_rfc3339(clock.now())}}));
}

sys::SharedLock claim_gpu(const Prepared& prepared, engine::Engine& engine, sys::System& system,
                          const config::Settings& settings,
                          const std::function<void(const std::string&)>& say) {
  return Claim{prepared, engine, system, settings, say}.take();
}

bool settle_memory(sys::Clock& clock, const std::function<long long()>& available_kib) {
  constexpr milliseconds step{250};
  constexpr int steps_max = 120;
  constexpr int steps_still = 2;
  constexpr long long growth_kib = 64 << 10;
  long long before = available_kib();
  for (int steps = 0, still = 0; steps < steps_max; ++steps) {
    if (before < 0) return true;
    clock.sleep(step);
    const long long now = available_kib();
    still = now - before < growth_kib ? still + 1 : 0;
    if (still == steps_still) return true;
    before = now;
  }
  return false;
}

}  // namespace sparkrun::run
