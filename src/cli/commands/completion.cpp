// SPDX-License-Identifier: MIT
#include "base/embedded.hpp"
#include "cli/command.hpp"

#include <array>

namespace sparkrun::cli {
namespace {

constexpr auto options = std::to_array<Option>({
    {"SHELL", "", Takes::value, "", "which shell", Values::any, "bash|zsh|fish", true},
});

int run(const Arguments& arguments, Context& context) {
  const std::string shell = arguments.value_or("SHELL", "");
  const std::string file =
      shell == "zsh" ? "completions/_sparkrun" : "completions/sparkrun." + shell;
  context.output.result(embedded_file(file).value_or(""));
  return 0;
}

}  // namespace

extern const Command completion_command{.name = "completion",
                                        .summary = "print the completion script of a shell",
                                        .options = options,
                                        .run = run};

}  // namespace sparkrun::cli
