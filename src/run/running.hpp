// SPDX-License-Identifier: MIT
#pragma once

#include "base/time.hpp"
#include "config/settings.hpp"
#include "engine/engine.hpp"
#include "run/run_folder.hpp"
#include "sys/system.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sparkrun::run {

// A container of ours, as its engine sees it, with what the state folder knows of its run.
struct GoingRun {
  std::string run = {};
  std::string profile = {};
  std::string digest = {};
  engine::ContainerState container;
  engine::Engine* engine = nullptr;      // of Running
  std::optional<RunFolder> folder = {};  // none: another user's, or it was removed

  [[nodiscard]] bool has_sparkrun() const { return folder && folder->has_holder(); }
  [[nodiscard]] std::optional<TimePoint> started() const;
};

// The runs whose containers are there, on the engines that this user's runs were started on and on
// the one that would be used now.
struct Running {
  std::vector<std::unique_ptr<engine::Engine>> engines;
  std::vector<GoingRun> runs;         // newest first
  std::vector<std::string> problems;  // engines that did not answer, for people

  // Those that run now.
  [[nodiscard]] std::vector<const GoingRun*> now() const;
};

// Throws `engine.*` only where no engine at all answers.
Running find_running(sys::System& system, const config::Settings& settings);

// Containers that have the GPU and are no runs of sparkrun's, on the engines of `running`.
std::vector<GoingRun> foreign_containers(const Running& running);

// The one that `text` means: a run's id or the start of it (4 characters or more), ^1 for the
// newest that runs, a profile or a container's name; empty: the only one that runs. With
// `includes_ended` also one whose container is still there. Nothing where none is meant. Throws
// `usage.which_run`, with a list, where several are.
const GoingRun* find_going(const Running& running, const std::string& text, bool includes_ended);

// What every command that looks at the runs does first. Runs in front that have a container and no
// sparkrun any more are told of, one line each; those in the background, whose waiter was killed or
// did not come back from a reboot, get a new one, and containers that such a run never started, or
// did not come to remove, are removed. Folders of runs that are gone altogether, and those of runs
// that ended longer ago than the setting `logs_kept`, are removed. Throws `engine.*`.
std::vector<std::string> look_after(sys::System& system, const config::Settings& settings);

}  // namespace sparkrun::run
