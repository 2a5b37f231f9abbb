// SPDX-License-Identifier: MIT
#include "fuzz/support.hpp"

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  sparkrun::fuzz::try_input({reinterpret_cast<const char*>(data), size});
  return 0;
}
