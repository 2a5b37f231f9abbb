// SPDX-License-Identifier: MIT
#include "base/time.hpp"

#include "base/text.hpp"

#include <fmt/format.h>

#include <array>

namespace sparkrun {
namespace {

using std::chrono::milliseconds;

// Exactly `length` digits at `at`.
std::optional<int> digits(std::string_view text, size_t at, size_t length) {
  if (at + length > text.size()) return std::nullopt;
  int value = 0;
  for (const char c : text.substr(at, length)) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  return value;
}

// `.123456` -> milliseconds; moves `at` past it. A point without a digit stays where it is.
milliseconds fraction(std::string_view text, size_t& at) {
  if (at >= text.size() || text[at] != '.' || !digits(text, at + 1, 1)) return milliseconds{0};
  int value = 0, scale = 100;
  for (++at; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at) {
    value += (text[at] - '0') * scale;
    scale /= 10;
  }
  return milliseconds{value};
}

std::optional<std::chrono::minutes> offset(std::string_view zone) {
  if (zone == "Z" || zone == "z") return std::chrono::minutes{0};
  const auto hours = digits(zone, 1, 2), minutes = digits(zone, 4, 2);
  if (zone.size() != 6 || zone[3] != ':' || !hours || !minutes) return std::nullopt;
  if (zone[0] != '+' && zone[0] != '-') return std::nullopt;
  if (*hours > 23 || *minutes > 59) return std::nullopt;
  const std::chrono::minutes total{*hours * 60 + *minutes};
  return zone[0] == '-' ? -total : total;
}

}  // namespace

std::string to_rfc3339(TimePoint time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date{day};
  const std::chrono::hh_mm_ss clock{time - day};
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count(),
                     clock.subseconds().count());
}

std::optional<TimePoint> parse_rfc3339(std::string_view text) {
  const auto year = digits(text, 0, 4), month = digits(text, 5, 2), day = digits(text, 8, 2);
  const auto hour = digits(text, 11, 2), minute = digits(text, 14, 2), second = digits(text, 17, 2);
  if (!year || !month || !day || !hour || !minute || !second) return std::nullopt;
  if (text[4] != '-' || text[7] != '-' || text[13] != ':' || text[16] != ':') return std::nullopt;
  if (text[10] != 'T' && text[10] != 't' && text[10] != ' ') return std::nullopt;
  if (*hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year{*year},
                                         std::chrono::month{static_cast<unsigned>(*month)},
                                         std::chrono::day{static_cast<unsigned>(*day)}};
  if (!date.ok()) return std::nullopt;
  size_t at = 19;
  const milliseconds subseconds = fraction(text, at);
  const auto shift = offset(text.substr(at));
  if (!shift) return std::nullopt;
  return std::chrono::sys_days{date} + std::chrono::hours{*hour} + std::chrono::minutes{*minute} +
         std::chrono::seconds{*second} + subseconds - *shift;
}

std::optional<std::chrono::seconds> parse_duration(std::string_view text) {
  constexpr std::string_view units = "smhd";
  constexpr std::array<long long, 4> seconds = {1, 60, 3600, 86400};
  constexpr long long longest = 3650LL * 86400;
  const size_t unit = text.empty() ? std::string_view::npos : units.find(text.back());
  const bool has_unit = unit != std::string_view::npos;
  const auto number = parse_number(text.substr(0, text.size() - (has_unit ? 1 : 0)));
  const long long factor = has_unit ? seconds.at(unit) : 1;
  if (!number || *number > longest / factor) return std::nullopt;
  return std::chrono::seconds{*number * factor};
}

std::string human_duration(milliseconds duration) {
  const long long seconds = duration.count() / 1000;
  if (seconds < 60) return fmt::format("{} s", seconds);
  const long long minutes = seconds / 60;
  if (minutes < 60) return fmt::format("{} min", minutes);
  const long long hours = minutes / 60;
  if (hours < 48) return fmt::format("{} h {} min", hours, minutes % 60);
  return fmt::format("{} days", hours / 24);
}

}  // namespace sparkrun
