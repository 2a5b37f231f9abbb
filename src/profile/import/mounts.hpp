// SPDX-License-Identifier: MIT
#pragma once

#include "profile/import/draft.hpp"

namespace sparkrun::profile {

// `-v VALUE` as docker takes it apart (SOURCE:TARGET:OPTIONS), and `--mount VALUE` (CSV of
// key=value). What [[mount]] cannot hold goes through as it is, with a note where docker will not
// take it either.
void import_volume(Draft& draft, const Word& word);
void import_mount(Draft& draft, const Word& word);

}  // namespace sparkrun::profile
