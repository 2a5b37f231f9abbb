// SPDX-License-Identifier: MIT
#pragma once

#include "base/json.hpp"
#include "base/time.hpp"
#include "lock/drift.hpp"

#include <string>
#include <string_view>

namespace sparkrun::cli {

// What is different between two images, one fact a line, each line begun with `indent`:
// `env     CUDA_VERSION: 13.0.1 -> 13.0.2`. Empty when nothing is.
std::string difference_text(const lock::ImageDifference& difference, std::string_view indent);
Json difference_json(const lock::ImageDifference& difference);

// `created 2026-07-02, 5 months ago`; empty when the image does not say it. The age from one month
// on.
std::string created_text(const std::string& created, TimePoint now);

}  // namespace sparkrun::cli
