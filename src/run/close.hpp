// SPDX-License-Identifier: MIT
#pragma once

#include "base/error.hpp"
#include "preflight/verdict.hpp"
#include "run/ensure_image.hpp"
#include "run/launch.hpp"
#include "run/prepare.hpp"
#include "run/recorder.hpp"

#include <optional>
#include <string>

namespace sparkrun::run {

// How a run ended, for its caller and for the status file.
struct Closing {
  std::string run;
  Ended ended;
  // `container`, or `engine`: docker's client exits with 125 when the engine refused to create or
  // start the container. (A job that exits with 125 itself cannot be told from that; docker
  // reserves the code.)
  std::string origin;
  bool is_in_background = false;  // it has not ended yet
};

// Last phases: makes the folders that mounts ask for, writes `run.start` durably, launches, and
// writes `run.bound` and `run.end`. `report` may be null: not checked. Throws what keeps the job
// from being started.
Closing launch_recorded(const Prepared& prepared, const EnsuredImage& ensured,
                        const preflight::Report* report, engine::Engine& engine, Recorder& recorder,
                        sys::System& system);

// `run.refused`, with the reason. Throws no Error: the refusal itself is what the user has to see.
void record_refusal(const Prepared& prepared, const Error& error,
                    const std::optional<preflight::Report>& report, Recorder& recorder,
                    sys::System& system);

// `--status-file`: {"origin","exit","error","run","retry"} at every end of a run.
class StatusFile {
 public:
  explicit StatusFile(std::string path) : path_(std::move(path)) {}
  void write(const Closing& closing) const;
  void write_refusal(const Error& error, int exit) const;

 private:
  void write_json(const Json& json) const;
  std::string path_;  // empty: none
};

}  // namespace sparkrun::run
