// SPDX-License-Identifier: MIT
#include "cli/command.hpp"
#include "cli/help.hpp"

namespace sparkrun::cli {
namespace {

int run(const Arguments&, Context& context) {
  context.output.result(man_page());
  return 0;
}

}  // namespace

extern const Command man_command{
    .name = "__man", .summary = "print the man page", .options = {}, .run = run, .is_hidden = true};

}  // namespace sparkrun::cli
