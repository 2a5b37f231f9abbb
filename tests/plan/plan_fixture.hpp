// SPDX-License-Identifier: MIT
#pragma once

#include "plan/planner.hpp"
#include "profile/reader.hpp"

#include <string>
#include <vector>

namespace sparkrun::plan {

// A made-up host: a project in /work, where /work/finetuning and /data exist, and a terminal.
inline PlanFacts made_up_facts() {
  return {.project_root = "/work",
          .working_directory = "/work/src",
          .home = "/home/me",
          .variables = {{"HF_TOKEN", "t"}, {"SCRATCH", "/scratch"}, {"RUN", "t"}, {"EMPTY", ""}},
          .in_is_terminal = true,
          .out_is_terminal = true,
          .path_exists =
              [](const fs::path& path) {
                return path == "/work/finetuning" || path.string().starts_with("/data") ||
                       path.string().starts_with("/home/me") ||
                       path.string().starts_with("/scratch");
              },
          .real_path = [](const fs::path& path) { return path; },
          .has_script = [](const fs::path&) { return false; }};
}

inline profile::Profile made_up_profile(const std::string& rest) {
  profile::Profile profile =
      profile::read_profile("version = 1\nimage = \"reg.test/a:1\"\n" + rest, "p.toml");
  profile.name = "p";
  profile.origin = profile::Origin::project;
  return profile;
}

inline const PinnedImage made_up_image = {.run_as = "reg.test/a@sha256:1", .pin = "lock"};

inline RunPlan made_up_plan(const std::string& rest, const RunOptions& options = {}) {
  return make_plan(made_up_profile(rest), made_up_image, {}, options, made_up_facts());
}

}  // namespace sparkrun::plan
