// SPDX-License-Identifier: MIT
#include "base/error.hpp"
#include "base/json_value.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/ensure_image.hpp"
#include "cli/preflight_text.hpp"
#include "cli/registry.hpp"
#include "preflight/report.hpp"
#include "run/check.hpp"
#include "run/prepare.hpp"
#include "sys/files.hpp"

#include <fmt/format.h>

#include <array>

namespace sparkrun::cli {
namespace {

constexpr auto options = std::to_array<Option>({
    {"TARGET", "", Takes::value, "", "a profile or an image; without one only the host is checked",
     Values::profile},
    {"--host", "", Takes::nothing, "", "check the host only"},
    {"--only", "", Takes::value, "IDS", "only these checks, separated by commas", Values::check},
    {"--report", "", Takes::value, "FILE", "write the report (env-report.json) to FILE",
     Values::file},
    {"--allow", "", Takes::value, "NAME",
     "let a project profile use that trust (see `explain trust`)"},
    {"--offline", "", Takes::nothing, "", "send no packet to a registry"},
    cacert_option,
});

std::vector<std::string> only_ids(const Arguments& arguments) {
  std::vector<std::string> ids;
  for (const std::string& list : arguments.values("--only")) {
    for (const std::string_view id : split(list, ',')) {
      ids.emplace_back(id);
    }
  }
  return ids;
}

struct Checked {
  preflight::Report report;
  sys::HostFacts host;
};

// The host alone. An engine that is not there is what the check `engine` reports, not an error.
Checked check_host(const std::vector<std::string>& only, Context& context, engine::Engine& engine) {
  const sys::HostFacts host = sys::read_host_facts(context.system.environment);
  const engine::EngineFacts* facts = nullptr;
  std::string note;
  try {
    facts = &engine.facts();
  } catch (const Error& error) {
    if (error.exit_code() != ExitCode::engine) throw;
    note = error.what();
  }
  return {run::check_host(host, facts, note, only), host};
}

Checked check_image(const run::Request& request, const std::vector<std::string>& only,
                    const profile::Project& project, Context& context, engine::Engine& engine) {
  run::Prepared prepared = run::prepare(request, project, context.system, context.settings, engine);
  for (const std::string& note : prepared.notes) context.output.note(note);
  for (const std::string& warning : prepared.plan.warnings) context.output.warning(warning);
  const run::EnsuredImage ensured = ensure_image(prepared, request.talk, engine, context);
  prepared.plan.image.run_as = ensured.run_as;
  return {run::check(prepared, ensured.image, engine, context.system, only), prepared.host};
}

Checked check(const Arguments& arguments, const std::vector<std::string>& only, Context& context) {
  const std::string target = arguments.value_or("TARGET", "");
  if (target.empty() || arguments.has("--host")) {
    const auto engine = engine::open(run::choose_engine(nullptr, context.settings), context.system);
    return check_host(only, context, *engine);
  }
  const profile::Project project =
      profile::find_project(context.system.environment, context.directory);
  const run::Request request{
      .profile = run::find_profile(target, project, context.system, context.settings),
      .allow = arguments.values("--allow"),
      .talk = registry_talk(context.output)};
  const auto engine =
      engine::open(run::choose_engine(&request.profile, context.settings), context.system);
  return check_image(request, only, project, context, *engine);
}

int run(const Arguments& arguments, Context& context) {
  if (arguments.has("--offline")) context.settings.set("offline", "true", "--offline");
  apply_registry_options(arguments, context.settings);
  const std::vector<std::string> only = only_ids(arguments);
  const Checked checked = check(arguments, only, context);
  const Json json = preflight::to_json(checked.report, checked.host);
  if (const auto file = arguments.value("--report"))
    sys::write_file_atomically(*file, to_json_text(json));
  context.output.result(
      json, report_table(checked.report) + "\nverdict: " + checked.report.verdict + "\n");
  return checked.report.is_blocked() ? static_cast<int>(ExitCode::blocked) : 0;
}

}  // namespace

extern const Command preflight_command{
    .name = "preflight",
    .summary = "check the host and the pinned image before anything is started",
    .options = options,
    .run = run,
    .description =
        "Starts one short container of the pinned image with the job's own flags and judges what "
        "it\n"
        "reports. Exit 11 when the verdict is `blocked`."};

}  // namespace sparkrun::cli
