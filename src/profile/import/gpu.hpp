// SPDX-License-Identifier: MIT
#pragma once

#include "profile/import/draft.hpp"

#include <string>
#include <vector>

namespace sparkrun::profile {

// What a line asks of the GPU: --gpus, --runtime and --device VENDOR/gpu=NAME belong together.
class GpuRequest {
 public:
  std::string runtime;  // the last --runtime

  void add_request(Draft& draft, const std::string& value);  // of --gpus
  // Of --device; false for a device that is no NVIDIA GPU.
  bool add_device(const std::string& value);

  // Fills in [gpu], and in [container] what is left.
  void write(Draft& draft) const;

 private:
  void keep_devices(Draft& draft) const;

  std::vector<std::string> requests_;
  std::vector<std::string> devices_;  // names behind `nvidia.com/gpu=`
};

}  // namespace sparkrun::profile
