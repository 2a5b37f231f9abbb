// SPDX-License-Identifier: MIT
#pragma once

#include "cli/output.hpp"
#include "preflight/verdict.hpp"

namespace sparkrun::cli {

// What matters of a report, on stderr: the failures and warnings with their fixes, then the
// verdict. Throws `preflight.blocked`, naming the checks and their fixes, when that is the verdict.
void show_report(const preflight::Report& report, Output& output);

// The whole report as a table: one row a check.
std::string report_table(const preflight::Report& report);

}  // namespace sparkrun::cli
