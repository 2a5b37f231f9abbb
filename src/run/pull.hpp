// SPDX-License-Identifier: MIT
#pragma once

#include "engine/engine.hpp"
#include "plan/run_plan.hpp"
#include "run/ensure_image.hpp"
#include "sys/host_facts.hpp"

#include <optional>
#include <string>
#include <vector>

namespace sparkrun::run {

// What a pull is about to meet.
struct PullOutlook {
  const plan::PinnedImage& image;
  const engine::EngineFacts& engine;
  std::string driver;                   // of the host; empty: unknown
  std::optional<long long> free_bytes;  // where the engine keeps images; nothing: unknown
};

// Before 10 GB move: what they may not fit into, or not run with. Warnings only: layers that are
// there already are not downloaded again.
std::vector<std::string> foresee_pull(const PullOutlook& outlook);

// Bytes that are left where the engine keeps its images, as far as this host can tell.
std::optional<long long> free_image_bytes(const engine::EngineFacts& engine);

// The highest CUDA major version that a driver of NVIDIA supports (CUDA release notes, table 3:
// 13 from 580 on, 12 from 525 on, 11 from 450 on); nothing for an older or unknown driver.
std::optional<int> cuda_major_of_driver(std::string_view driver);

}  // namespace sparkrun::run
