// SPDX-License-Identifier: MIT
#include "base/json_value.hpp"
#include "base/text.hpp"
#include "cli/images.hpp"

#include <fmt/format.h>

#include <array>

namespace sparkrun::cli {
namespace {

constexpr auto options = std::to_array<Option>({
    {"--days", "", Takes::value, "N", "a run counts for so long (30)"},
    engine_option,
});

std::string needed_by(const run::KeptImage& image) {
  if (image.needed_by.empty()) return "nobody";
  const std::string& first = image.needed_by.front();
  return image.needed_by.size() == 1
             ? first
             : fmt::format("{} and {} more", first, image.needed_by.size() - 1);
}

int run(const Arguments& arguments, Context& context) {
  const ImageStore store = find_images(arguments, context, "image ls");
  Json json = Json::array();
  std::vector<std::vector<std::string>> rows = {{"TAG", "ID", "SIZE", "NEEDED BY"}};
  for (const run::KeptImage& image : store.images) {
    json.push_back(to_json(image));
    const std::string tag = image.image.tags.empty() ? "-" : image.image.tags.front();
    rows.push_back(
        {tag, image.image.id.substr(0, 19), human_bytes(image.image.bytes), needed_by(image)});
  }
  context.output.result(json, render_table(rows));
  return 0;
}

}  // namespace

extern const Command image_ls_command{
    .name = "image ls",
    .summary = "list the images that runs have pulled, and who needs them",
    .options = options,
    .run = run,
    .description =
        "A pulled image gets a tag (sparkrun/PROFILE:pinned-...), so that the engine's own prune\n"
        "does not take it. Needed by: a lock that is known of, or a run of the last days."};

}  // namespace sparkrun::cli
