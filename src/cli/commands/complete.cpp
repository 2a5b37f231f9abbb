// SPDX-License-Identifier: MIT
#include "cli/command.hpp"
#include "cli/completion.hpp"

#include <array>

namespace sparkrun::cli {
namespace {

constexpr auto options = std::to_array<Option>({
    {"WORDS", "", Takes::values, "", "the command line so far, the word under the cursor last"},
});

int run(const Arguments& arguments, Context& context) {
  for (const std::string& candidate : complete(arguments.values("WORDS"), context)) {
    context.output.result(candidate + "\n");
  }
  return 0;
}

}  // namespace

extern const Command complete_command{.name = "__complete",
                                      .summary = "candidates for a shell's completion",
                                      .options = options,
                                      .run = run,
                                      .is_hidden = true};

}  // namespace sparkrun::cli
