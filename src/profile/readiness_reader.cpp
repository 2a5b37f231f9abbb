// SPDX-License-Identifier: MIT
#include "profile/readiness_reader.hpp"

#include "base/regex.hpp"
#include "base/text.hpp"
#include "base/time.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace sparkrun::profile {
namespace {

// A profile that came with a checkout must not make this machine ask others.
bool is_of_this_machine(std::string_view url) {
  constexpr std::string_view scheme = "http://";
  constexpr long long port_max = 65535;
  if (!url.starts_with(scheme) || url.find(' ') != std::string_view::npos) return false;
  url.remove_prefix(scheme.size());
  const std::string_view authority = url.substr(0, url.find_first_of("/?#"));
  for (const std::string_view host : {"localhost", "127.0.0.1", "[::1]"}) {
    if (!authority.starts_with(host)) continue;
    const std::string_view rest = authority.substr(host.size());
    const long long port = rest.starts_with(':') ? parse_number(rest.substr(1)).value_or(0) : 0;
    return rest.empty() || (port > 0 && port <= port_max);
  }
  return false;
}

void judge_pattern(const std::string& pattern, const TomlNode& node, Faults& faults) {
  try {
    const Regex regex{pattern};
  } catch (const std::invalid_argument& error) {
    faults.add(node, fmt::format("`ready.log` is not a regular expression: {}", error.what()));
  }
}

}  // namespace

Readiness read_readiness(const TomlNode& table, bool is_whole, Faults& faults) {
  Section section{table, "ready", faults};
  Readiness ready{.http = section.text("http").value_or(""),
                  .log = section.text("log").value_or("")};
  if (!ready.http.empty() && !is_of_this_machine(ready.http)) {
    faults.add(*table.find("http"),
               fmt::format("`ready.http` must be a URL on this machine, such as "
                           "http://localhost:8000/health, not `{}`",
                           ready.http));
  }
  if (!ready.log.empty()) judge_pattern(ready.log, *table.find("log"), faults);
  if (const auto text = section.text("timeout")) {
    const auto timeout = parse_duration(*text);
    constexpr std::chrono::days longest{24};
    if (!timeout || timeout->count() == 0 || *timeout > longest) {
      faults.add(
          *table.find("timeout"),
          fmt::format("`ready.timeout` is a time such as 90s, 20m or 2h, up to 24d, not `{}`",
                      *text));
    }
    ready.timeout = timeout.value_or(ready.timeout);
  }
  section.refuse_unknown();
  if (is_whole && ready.http.empty() == ready.log.empty())
    faults.add(table, "[ready] needs one of `http` and `log`");
  return ready;
}

}  // namespace sparkrun::profile
