// SPDX-License-Identifier: MIT
#pragma once

#include "config/settings.hpp"
#include "engine/engine.hpp"
#include "run/prepare.hpp"
#include "sys/shared_lock.hpp"
#include "sys/system.hpp"

#include <functional>
#include <string>

namespace sparkrun::run {

// --exclusive: of the runs that ask for it at most one goes on at a time on this machine, whoever
// its user is. Waits until it is this one's turn, as long as was asked for; `say` is told for whom,
// each time that changes. The GPU is this run's as long as any process holds the lock that is
// returned. A run whose sparkrun was killed keeps the others waiting as long as its container runs.
// Throws `run.gpu_busy`, `interrupted`, `file.unwritable`, `engine.*`.
sys::SharedLock claim_gpu(const Prepared& prepared, engine::Engine& engine, sys::System& system,
                          const config::Settings& settings,
                          const std::function<void(const std::string&)>& say);

// Writes into the lock who has it, for those who wait.
void note_holder(sys::SharedLock& lock, const std::string& run, const std::string& profile,
                 const sys::Clock& clock);

// Waits, half a minute at most, until no more memory is being given back: what a job had on the GPU
// is freed some time after its end. `available_kib` is asked for what there is; negative: unknown.
// False: it was still growing.
bool settle_memory(sys::Clock& clock, const std::function<long long()>& available_kib);

}  // namespace sparkrun::run
