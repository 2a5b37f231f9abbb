// SPDX-License-Identifier: MIT
#include "archive/restore.hpp"

#include "archive/tar.hpp"
#include "base/error.hpp"
#include "base/json_value.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/progress.hpp"
#include "run/prepare.hpp"
#include "sys/files.hpp"

#include <fmt/format.h>

#include <array>
#include <optional>

namespace sparkrun::cli {
namespace {

namespace fs = std::filesystem;

constexpr auto options = std::to_array<Option>({
    {"DIR", "", Takes::value, "", "the folder of the archive; `-`: a tar stream on standard input",
     Values::folder, "", true},
    {"--platform", "", Takes::value, "PLATFORM",
     "load that platform's builds (default: the engine's)"},
});

Json to_json(const archive::RestorableImage& image, std::string_view action) {
  return {{"reference", image.reference},
          {"profiles", image.profiles},
          {"digest", image.root.to_string()},
          {"manifest", image.manifest.digest.to_string()},
          {"config", image.config.to_string()},
          {"bytes", image.bytes()},
          {"tags", image.tags},
          {"action", action}};
}

// The images, and which of them the engine did not have.
struct Restored {
  archive::Selection selection;
  std::vector<bool> was_loaded;
};

Restored restore(const fs::path& folder, const oci::Platform& platform, engine::Engine& engine,
                 Context& context) {
  Restored restored;
  {
    ProgressLine line{context.output, context.system.clock};
    restored.selection = archive::select_images(folder, platform, watch_on(line, context.output));
  }
  std::vector<archive::RestorableImage> to_load;
  long long bytes = 0;
  for (const archive::RestorableImage& image : restored.selection.images) {
    restored.was_loaded.push_back(!archive::is_loaded(image, engine));
    if (!restored.was_loaded.back()) continue;
    to_load.push_back(image);
    bytes += image.bytes();
  }
  if (to_load.empty()) return restored;
  context.output.note(fmt::format("loading {} into {}", human_bytes(bytes), engine.facts().name));
  archive::load_images(to_load, folder, context.system.environment.temporary_directory(), engine);
  return restored;
}

void report(const Restored& restored, const oci::Platform& platform, Output& output) {
  const auto& [selection, was_loaded] = restored;
  for (const std::string& reference : selection.skipped) {
    output.warning(
        fmt::format("{} has no build for {} in the archive", reference, platform.to_string()));
  }
  Json images = Json::array();
  for (size_t i = 0; i < selection.images.size(); ++i) {
    const archive::RestorableImage& image = selection.images[i];
    const std::string_view action = was_loaded[i] ? "loaded" : "kept";
    images.push_back(to_json(image, action));
    if (output.json) continue;
    const std::string& name = image.reference.empty() ? image.tags.front() : image.reference;
    output.result(fmt::format("{} {} {}\n", action, image.config.to_string(), printable(name)));
  }
  if (!output.json) return;
  output.result_json(Json{{"platform", platform.to_string()},
                          {"images", std::move(images)},
                          {"skipped", selection.skipped}});
}

int run(const Arguments& arguments, Context& context) {
  const std::string source = arguments.value_or("DIR", "");
  std::optional<oci::Platform> platform;
  if (const auto typed = arguments.value("--platform")) platform = oci::Platform::parse(*typed);
  if (source == "-" && context.output.terminal().in_is_terminal) {
    throw Error{"usage.bad_value",
                "an archive does not come from a terminal: redirect standard input, or name a "
                "folder",
                {{"command", "restore"}}};
  }
  const auto engine = engine::open(run::choose_engine(nullptr, context.settings), context.system);
  const engine::EngineFacts& facts = engine->facts();
  if (!platform) platform = oci::Platform::of(facts.os, facts.architecture, "");
  std::optional<sys::TemporaryFolder> unpacked;
  fs::path folder = source;
  if (source == "-") {
    unpacked.emplace(context.system.environment.temporary_directory());
    folder = unpacked->path();
    archive::unpack_stdin(folder, context.system.processes);
  }
  report(restore(folder, *platform, *engine, context), *platform, context.output);
  return 0;
}

}  // namespace

extern const Command restore_command{
    .name = "restore",
    .summary = "load the images of an archive into the engine, without a network",
    .options = options,
    .run = run,
    .description =
        "Every blob is hashed first. The images get a tag of their own (sparkrun/archive:...), and "
        "`sparkrun\n"
        "run` finds them by the locked digests."};

}  // namespace sparkrun::cli
