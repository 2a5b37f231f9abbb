// SPDX-License-Identifier: MIT
#include "cli/ensure_image.hpp"

#include "base/error.hpp"
#include "run/pinned_tag.hpp"
#include "run/pull.hpp"
#include "run/pull_failure.hpp"

#include <fmt/format.h>

namespace sparkrun::cli {
namespace {

// Without it the next `docker image prune` would take 10 GB away; the run itself does not need it.
void keep_from_prune(const run::Prepared& prepared, const run::EnsuredImage& ensured,
                     engine::Engine& engine, Output& output) {
  try {
    engine.tag(ensured.run_as, run::pinned_tag(prepared.plan.profile.name, ensured.run_as));
  } catch (const Error& error) {
    if (error.exit_code() == ExitCode::interrupted) throw;
    output.warning(error.what());
  }
}

}  // namespace

run::EnsuredImage ensure_image(const run::Prepared& prepared, const oci::Talk& talk,
                               engine::Engine& engine, Context& context) {
  Output& output = context.output;
  const run::PullRules rules{.is_offline = context.settings.boolean("offline").value_or(false),
                             .shows_progress = output.terminal().err_is_terminal && !output.quiet,
                             .before_pull = [&] {
                               const engine::EngineFacts& facts = engine.facts();
                               const run::PullOutlook outlook{
                                   .image = prepared.plan.image,
                                   .engine = facts,
                                   .driver = facts.is_remote ? "" : prepared.host.driver,
                                   .free_bytes = run::free_image_bytes(facts)};
                               for (const std::string& warning : run::foresee_pull(outlook))
                                 output.warning(warning);
                             }};
  const run::EnsuredImage ensured = run::with_pull_explained(
      prepared.plan.image, {context.system, context.settings, talk},
      [&] { return run::ensure_image(prepared.plan.image, engine, rules); });
  if (ensured.was_pulled) keep_from_prune(prepared, ensured, engine, output);
  return ensured;
}

}  // namespace sparkrun::cli
