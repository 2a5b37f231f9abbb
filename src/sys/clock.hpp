// SPDX-License-Identifier: MIT
#pragma once

#include "base/time.hpp"

#include <array>
#include <chrono>
#include <cstdint>

namespace sparkrun::sys {

// Time and randomness, so that tests can fix both.
class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual TimePoint now() const = 0;
  // Never goes backwards; only differences mean anything.
  [[nodiscard]] virtual std::chrono::milliseconds monotonic() const = 0;
  [[nodiscard]] virtual std::array<uint8_t, 10> randomness() = 0;
  virtual void sleep(std::chrono::milliseconds duration) = 0;
};

class SystemClock final : public Clock {
 public:
  [[nodiscard]] TimePoint now() const override;
  [[nodiscard]] std::chrono::milliseconds monotonic() const override;
  [[nodiscard]] std::array<uint8_t, 10> randomness() override;
  void sleep(std::chrono::milliseconds duration) override;
};

}  // namespace sparkrun::sys
