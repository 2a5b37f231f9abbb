// SPDX-License-Identifier: MIT
#include "cli/registry.hpp"

namespace sparkrun::cli {

void apply_registry_options(const Arguments& arguments, config::Settings& settings) {
  if (const auto file = arguments.value("--cacert")) settings.set("cacert", *file, "--cacert");
}

oci::Talk registry_talk(Output& output) {
  return {.notice =
              [&output](const std::string& text) {
                if (output.terminal().err_is_terminal || output.verbose) output.note(text);
              },
          .warning = [&output](const std::string& text) { output.warning(text); }};
}

}  // namespace sparkrun::cli
