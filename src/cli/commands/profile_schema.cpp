// SPDX-License-Identifier: MIT
#include "base/json_value.hpp"
#include "cli/command.hpp"
#include "profile/schema.hpp"

namespace sparkrun::cli {
namespace {

int run(const Arguments&, Context& context) {
  context.output.result_json(profile::profile_schema());
  return 0;
}

}  // namespace

extern const Command profile_schema_command{
    .name = "profile schema",
    .summary = "print the JSON Schema of profiles, for editors",
    .options = {},
    .run = run,
    .description =
        "With taplo: `sparkrun profile schema >profile.schema.json`, and in .taplo.toml a rule "
        "that\n"
        "gives it to profiles/*.toml (docs/formats.md)."};

}  // namespace sparkrun::cli
