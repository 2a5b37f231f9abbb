// SPDX-License-Identifier: MIT
#pragma once

#include "profile/profile.hpp"

#include <string>

namespace sparkrun::profile {

// The text of a profile file that read_profile() reads back as the same value (name, origin, path
// and hash aside), in the order of the shipped profiles.
std::string write_profile(const Profile& profile);

}  // namespace sparkrun::profile
