// SPDX-License-Identifier: MIT
#pragma once

#include "base/json.hpp"
#include "preflight/verdict.hpp"
#include "sys/host_facts.hpp"

#include <map>
#include <string>

namespace sparkrun::preflight {

// Each check's outcome as one text: `pass`, `skip: no torch`, `warn: ..`. Also what the ledger
// keeps.
std::map<std::string, std::string> check_texts(const Report& report);

// The env-report: `platform`, `checks` (id -> text), `headroom_gb` (MemAvailable in whole GiB, as
// `free -g` counts; null when it is not known), `verdict`, and `details`: per check `id`, `status`,
// `blocking`, `message` and, where there is something to do, `fix`.
Json to_json(const Report& report, const sys::HostFacts& host);

}  // namespace sparkrun::preflight
