// SPDX-License-Identifier: MIT
#include "sys/clock.hpp"

#include "base/error.hpp"

#include <sys/random.h>
#include <thread>

namespace sparkrun::sys {

using std::chrono::milliseconds;

TimePoint SystemClock::now() const {
  return std::chrono::floor<milliseconds>(std::chrono::system_clock::now());
}

milliseconds SystemClock::monotonic() const {
  return std::chrono::duration_cast<milliseconds>(
      std::chrono::steady_clock::now().time_since_epoch());
}

std::array<uint8_t, 10> SystemClock::randomness() {
  std::array<uint8_t, 10> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    throw Error{"bug", "the kernel gave no random bytes"};
  }
  return bytes;
}

void SystemClock::sleep(milliseconds duration) { std::this_thread::sleep_for(duration); }

}  // namespace sparkrun::sys
