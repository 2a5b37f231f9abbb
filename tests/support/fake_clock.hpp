// SPDX-License-Identifier: MIT
#pragma once

#include "sys/clock.hpp"

#include <array>
#include <chrono>
#include <cstdint>

namespace sparkrun::test {

// Stands still until a test moves it: 2026-07-14T09:12:03.114Z. Its "random" bytes count up, so
// that two ids differ and are known.
class FakeClock final : public sys::Clock {
 public:
  [[nodiscard]] TimePoint now() const override { return now_; }
  [[nodiscard]] std::chrono::milliseconds monotonic() const override { return monotonic_; }
  [[nodiscard]] std::array<uint8_t, 10> randomness() override {
    std::array<uint8_t, 10> bytes{};
    bytes.back() = ++drawn_;
    return bytes;
  }

  void sleep(std::chrono::milliseconds duration) override { advance(duration); }

  void advance(std::chrono::milliseconds step) {
    now_ += step;
    monotonic_ += step;
  }

 private:
  TimePoint now_{std::chrono::milliseconds{1'784'020'323'114}};
  std::chrono::milliseconds monotonic_{1'000'000};
  uint8_t drawn_ = 0;
};

}  // namespace sparkrun::test
