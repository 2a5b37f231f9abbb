// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sparkrun {

// The fields of one record of CSV (RFC 4180), as Go's encoding/csv, and with it docker, reads the
// values of --mount and --gpus. Nothing for text that is not one record: a quote inside a plain
// field, one that is not closed, or a line break outside of quotes.
std::optional<std::vector<std::string>> parse_csv_record(std::string_view text);

// One field, quoted where it has to be.
std::string csv_field(const std::string& text);

}  // namespace sparkrun
