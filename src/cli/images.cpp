// SPDX-License-Identifier: MIT
#include "cli/images.hpp"

#include "base/error.hpp"
#include "base/json_value.hpp"
#include "base/text.hpp"
#include "run/prepare.hpp"
#include "run/recorder.hpp"

#include <fmt/format.h>

namespace sparkrun::cli {
namespace {

long long parse_days(const Arguments& arguments, std::string_view command) {
  constexpr long long days_max = 36500;
  const std::string typed = arguments.value_or("--days", "30");
  const auto days = parse_number(typed);
  if (days && *days <= days_max) return *days;
  throw Error{"usage.bad_value",
              fmt::format("--days is a number from 0 to {}, not `{}`", days_max, printable(typed)),
              {{"command", std::string{command}}}};
}

}  // namespace

ImageStore find_images(const Arguments& arguments, Context& context, std::string_view command) {
  const long long days = parse_days(arguments, command);
  if (const auto engine = arguments.value("--engine"))
    context.settings.set("engine", *engine, "--engine");
  const profile::Project project =
      profile::find_project(context.system.environment, context.directory);
  const auto ledgers = audit::find_ledgers(
      run::audit_root(context.settings, context.system.environment), context.system.clock);
  const TimePoint since = context.system.clock.now() - std::chrono::hours{24 * days};
  const std::vector<run::ImageNeed> needs =
      run::image_needs(project, context.system, audit::list(ledgers), since);
  ImageStore store{
      .engine = engine::open(run::choose_engine(nullptr, context.settings), context.system),
      .images = {}};
  store.images = run::kept_images(*store.engine, needs);
  return store;
}

Json to_json(const run::KeptImage& image) {
  return {{"id", image.image.id},
          {"tags", image.image.tags},
          {"repo_digests", image.image.repo_digests},
          {"bytes", image.image.bytes},
          {"needed_by", image.needed_by}};
}

}  // namespace sparkrun::cli
