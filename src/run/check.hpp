// SPDX-License-Identifier: MIT
#pragma once

#include "engine/engine.hpp"
#include "preflight/verdict.hpp"
#include "run/prepare.hpp"

#include <string>
#include <vector>

namespace sparkrun::run {

// Third phase: the facts of the image, seen through the job's own flags, and what they mean.
// `image` is what ensure_image found. A probe container that cannot be run is a fact too ("why
// not"), not an error.
preflight::Report check(const Prepared& prepared, const engine::LocalImage& image,
                        engine::Engine& engine, sys::System& system,
                        const std::vector<std::string>& only = {});

// The checks that need nothing of the image: before it is pulled.
preflight::Report check_before_pull(const Prepared& prepared);

// The same without a container: what the host alone tells.
preflight::Report check_host(const sys::HostFacts& host, const engine::EngineFacts* engine,
                             const std::string& engine_note,
                             const std::vector<std::string>& only = {});

// Whether an entrypoint hands over to its arguments (`/opt/nvidia/nvidia_entrypoint.sh`, tini)
// instead of being the application. Through a wrapper the probe sees what the job sees: NGC's sets
// up CUDA forward compatibility.
bool is_wrapper(const std::vector<std::string>& entrypoint);

}  // namespace sparkrun::run
