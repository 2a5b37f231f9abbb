// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string_view>

namespace sparkrun::archive {

// How far the bytes have come.
struct Progress {
  std::string_view doing;  // fetching, verifying
  long long bytes = 0;
  long long bytes_total = 0;
  size_t blobs = 0;
  size_t blobs_total = 0;

  // Sizes come from outside: a sum of them stays at the largest number.
  void expect(long long more_bytes);
};

// Who looks on while bytes move. Both may be empty.
struct Watch {
  std::function<void(const Progress&)> progress;
  std::function<void()> checkpoint;  // throws `interrupted`

  void tell(const Progress& now) const {
    if (progress) progress(now);
  }
  void check() const {
    if (checkpoint) checkpoint();
  }
};

}  // namespace sparkrun::archive
