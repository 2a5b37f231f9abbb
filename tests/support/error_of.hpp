// SPDX-License-Identifier: MIT
#pragma once

#include "base/error.hpp"

namespace sparkrun::test {

// What an action throws; `bug` when it throws nothing.
template <typename Action>
Error error_of(Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    return error;
  }
  return Error{"bug", "no error"};
}

}  // namespace sparkrun::test
