// SPDX-License-Identifier: MIT
#include "base/error.hpp"
#include "base/json_value.hpp"
#include "base/text.hpp"
#include "cli/images.hpp"

#include <fmt/format.h>

#include <array>

namespace sparkrun::cli {
namespace {

constexpr auto options = std::to_array<Option>({
    {"--days", "", Takes::value, "N", "keep what a run of the last N days used (30)"},
    {"--dry-run", "", Takes::nothing, "", "say what would be removed"},
    engine_option,
});

// What was done with an image; `why` where the engine would not.
struct Pruned {
  std::string action;
  std::string why;
};

Pruned prune(const run::KeptImage& image, bool is_dry_run, engine::Engine& engine) {
  if (engine.has_container_of(image.image.id)) {
    return {"kept", image.image.tags.front() + ": a container was made from it"};
  }
  if (is_dry_run) return {"would remove", ""};
  try {
    for (const std::string& name : image.removable_names()) engine.remove_image(name);
  } catch (const Error& error) {
    if (error.id() != "engine.failed") throw;
    return {"kept", error.what()};
  }
  return {image.has_other_names() ? "untagged" : "removed", ""};
}

int run(const Arguments& arguments, Context& context) {
  const ImageStore store = find_images(arguments, context, "image prune");
  Json json = Json::array();
  ExitCode code = ExitCode::ok;
  for (const run::KeptImage& image : store.images) {
    if (!image.needed_by.empty() || !image.is_own) continue;
    const Pruned done = prune(image, arguments.has("--dry-run"), *store.engine);
    if (done.action == "kept") {
      code = ExitCode::engine;
      context.output.warning(done.why);
    }
    json.push_back(to_json(image));
    json.back()["action"] = done.action;
    if (context.output.json) continue;
    context.output.result(fmt::format("{} {} ({})\n", done.action,
                                      printable(image.removable_names().front()),
                                      human_bytes(image.image.bytes)));
  }
  if (context.output.json)
    context.output.result_json(json);
  else if (json.empty())
    context.output.note("nothing to remove (`sparkrun image ls` says who needs what)");
  return static_cast<int>(code);
}

}  // namespace

extern const Command image_prune_command{
    .name = "image prune",
    .summary = "remove the images that no lock and no recent run names",
    .options = options,
    .run = run,
    .description =
        "Of the images that your own runs have used. Locks that are known of: the project's, "
        "yours,\n"
        "the built-in ones, and every lock that a run of the ledger was started with. An image "
        "that\n"
        "has a name of yours only loses the ones that sparkrun gave it."};

}  // namespace sparkrun::cli
