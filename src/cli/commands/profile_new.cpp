// SPDX-License-Identifier: MIT
#include "base/json_value.hpp"
#include "base/toml.hpp"
#include "cli/command.hpp"
#include "cli/profiles.hpp"
#include "oci/reference.hpp"
#include "profile/store.hpp"

#include <fmt/format.h>

#include <array>

namespace sparkrun::cli {
namespace {

constexpr auto options = std::to_array<Option>({
    {"NAME", "", Takes::value, "", "of the new profile", Values::any, {}, true},
    {"--image", "", Takes::value, "IMAGE", "what it runs; left out: what it extends runs"},
    {"--extends", "", Takes::value, "PROFILE", "where its flags come from (pytorch)",
     Values::profile},
    {"--force", "", Takes::nothing, "", "write over a profile that is there"},
});

// Everything that is needed, and as comments what most people add next.
std::string profile_text(const std::string& base, const std::string& image) {
  std::string text = "version = 1\n";
  text += fmt::format("extends = {}  # its flags; `sparkrun profile show` lists all of them\n",
                      toml_string(base));
  if (!image.empty()) text += fmt::format("image = {}\n", toml_string(image));
  return text + R"(summary = ""

# purpose = "training"          # or "inference", "tool": some warnings depend on it
# command = ["python3", "train.py"]
# env_from_host = ["HF_TOKEN"]  # passed by name, never by value; "NAME?" may be unset

# [container]
# user = "caller"               # the job's files are yours, not root's

# [[mount]]
# source = "./finetuning"       # from the project's root
# target = "/workspace/finetuning"
# create = true

# [env]
# HF_XET_HIGH_PERFORMANCE = "1"
)";
}

int run(const Arguments& arguments, Context& context) {
  const std::string name = arguments.value_or("NAME", "");
  require_profile_name(name, "profile new");
  const std::string image = arguments.value_or("--image", "");
  if (!image.empty()) static_cast<void>(oci::Reference::parse(image));
  const profile::Project project =
      profile::find_project(context.system.environment, context.directory);
  const std::string base = arguments.value_or("--extends", "pytorch");
  static_cast<void>(profile::Store{project, context.system.environment}.load(base));

  const sys::fs::path path =
      write_profile(project, name, profile_text(base, image), arguments.has("--force"));
  context.output.result(Json{{"profile", name}, {"path", path.string()}},
                        fmt::format("{}: wrote {}\n", name, path.string()));
  return 0;
}

}  // namespace

extern const Command profile_new_command{
    .name = "profile new",
    .summary = "write a short profile to start from",
    .options = options,
    .run = run,
    .description =
        "Writes profiles/NAME.toml in the project; over one that is there only with --force."};

}  // namespace sparkrun::cli
