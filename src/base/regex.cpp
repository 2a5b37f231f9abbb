// SPDX-License-Identifier: MIT
#include "base/regex.hpp"

#include <fmt/format.h>

#include <array>
#include <stdexcept>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

namespace sparkrun {
namespace {

constexpr size_t pattern_bytes_max = 1000;
// Far more than a pattern that people write needs on one line of a log, and some milliseconds.
constexpr uint32_t steps_max = 1'000'000;
constexpr uint32_t heap_kib_max = 8 << 10;

PCRE2_SPTR bytes(std::string_view text) { return reinterpret_cast<PCRE2_SPTR>(text.data()); }

}  // namespace

Regex::Regex(std::string_view pattern) {
  if (pattern.size() > pattern_bytes_max)
    throw std::invalid_argument{fmt::format("it has more than {} bytes", pattern_bytes_max)};
  int fault = 0;
  PCRE2_SIZE at = 0;
  pcre2_code* const code = pcre2_compile(bytes(pattern), pattern.size(), 0, &fault, &at, nullptr);
  if (code == nullptr) {
    std::array<PCRE2_UCHAR, 200> words{};
    pcre2_get_error_message(fault, words.data(), words.size());
    throw std::invalid_argument{
        fmt::format("{} (after {} characters)", reinterpret_cast<const char*>(words.data()), at)};
  }
  code_ = {code, [](void* held) { pcre2_code_free(static_cast<pcre2_code*>(held)); }};
  scratch_ = {pcre2_match_data_create(1, nullptr),
              [](void* held) { pcre2_match_data_free(static_cast<pcre2_match_data*>(held)); }};
  pcre2_match_context* const limits = pcre2_match_context_create(nullptr);
  limits_ = {limits,
             [](void* held) { pcre2_match_context_free(static_cast<pcre2_match_context*>(held)); }};
  pcre2_set_match_limit(limits, steps_max);
  pcre2_set_heap_limit(limits, heap_kib_max);
}

bool Regex::is_in(std::string_view text) const {
  return pcre2_match(static_cast<pcre2_code*>(code_.get()), bytes(text), text.size(), 0, 0,
                     static_cast<pcre2_match_data*>(scratch_.get()),
                     static_cast<pcre2_match_context*>(limits_.get())) >= 0;
}

}  // namespace sparkrun
