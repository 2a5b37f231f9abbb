// SPDX-License-Identifier: MIT
#pragma once

#include "base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <string_view>
#include <variant>

namespace sparkrun::fuzz {

// What each `NAME_fuzz.cpp` defines: tries one input, and ends the program where a promise is
// broken.
void try_input(std::string_view input);

// An abort is what libFuzzer keeps the input of.
inline void expect(bool is_so, std::string_view promise) {
  if (is_so) return;
  fmt::print(stderr, "broken: {}\n", promise);
  std::abort();
}

// What `action` returns, or the Error that it refuses with, which is of one of these ids. All else
// that it throws is a crash.
template <typename Action>
auto outcome_of(std::initializer_list<std::string_view> ids, Action&& action)
    -> std::variant<decltype(action()), Error> {
  try {
    return action();
  } catch (const Error& error) {
    if (std::ranges::find(ids, error.id()) == ids.end()) {
      fmt::print(stderr, "{}: {}\n", error.id(), error.what());
      expect(false, "only errors of the documented ids are thrown");
    }
    return error;
  }
}

}  // namespace sparkrun::fuzz
