// SPDX-License-Identifier: MIT
#pragma once

#include "profile/profile.hpp"

#include <string>
#include <string_view>

namespace sparkrun::profile {

// What a container is for, as far as image and command say it clearly.
struct Purpose {
  std::string_view name;  // as `purpose` in a profile; empty: nothing says it
  std::string sign;       // what says it: `vllm serve`, `torchrun`
};

Purpose infer_purpose(const Profile& profile);

}  // namespace sparkrun::profile
