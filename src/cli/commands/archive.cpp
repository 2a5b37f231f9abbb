// SPDX-License-Identifier: MIT
#include "archive/archive.hpp"

#include "archive/tar.hpp"
#include "base/error.hpp"
#include "base/json_value.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/locked_profiles.hpp"
#include "cli/profiles.hpp"
#include "cli/progress.hpp"
#include "cli/registry.hpp"
#include "oci/connect.hpp"
#include "profile/store.hpp"
#include "sys/files.hpp"

#include <fmt/format.h>

#include <array>

namespace sparkrun::cli {
namespace {

namespace fs = std::filesystem;

constexpr auto options = std::to_array<Option>({
    {"DIR", "", Takes::value, "", "the folder of the archive; `-`: a tar stream on standard output",
     Values::folder, "", true},
    {"PROFILE", "", Takes::values, "",
     "profiles whose images to archive; all of the project when left out", Values::profile},
    cacert_option,
});

// All that is wrong is said, not only the first of it; nothing when something is.
std::optional<std::vector<lock::LockedProfile>> locked_images(const Arguments& arguments,
                                                              Context& context, ExitCode& code) {
  const profile::Store store{profile::find_project(context.system.environment, context.directory),
                             context.system.environment};
  std::vector<lock::LockedProfile> locked;
  for (const std::string& name :
       chosen_profiles(arguments, store, "archive", "whose images to archive")) {
    try {
      locked.push_back(current_locked_profile(name, store));
    } catch (const Error& error) {
      context.output.error(error);
      code = worse(code, error.exit_code());
    }
  }
  if (code != ExitCode::ok) return std::nullopt;
  return locked;
}

Json to_json(const archive::ArchivedImage& archived) {
  Json platforms = Json::array();
  for (const auto& [platform, manifest] : archived.platforms) {
    platforms.push_back({{"platform", platform}, {"manifest", manifest.to_string()}});
  }
  return {{"reference", archived.image.reference},
          {"digest", archived.image.root.digest.to_string()},
          {"media_type", archived.image.root.media_type},
          {"profiles", archived.image.profiles},
          {"platforms", platforms},
          {"left_out", archived.left_out}};
}

Json to_json(const archive::Report& report, const std::string& layout) {
  Json images = Json::array(), blobs = Json::array();
  for (const auto& image : report.images) images.push_back(to_json(image));
  for (const auto& blob : report.blobs) {
    blobs.push_back({{"digest", blob.digest.to_string()},
                     {"bytes", blob.bytes},
                     {"action", blob.was_fetched ? "fetched" : "kept"}});
  }
  return {{"layout", layout}, {"images", images}, {"blobs", blobs}};
}

std::string counted_blobs(size_t count, long long bytes) {
  return fmt::format("{} {} ({})", count, count == 1 ? "blob" : "blobs", human_bytes(bytes));
}

void say_totals(const archive::Report& report, Output& output) {
  std::array<size_t, 2> count{};
  std::array<long long, 2> bytes{};
  for (const archive::ArchivedBlob& blob : report.blobs) {
    ++count[blob.was_fetched ? 1 : 0];
    bytes[blob.was_fetched ? 1 : 0] += blob.bytes;
  }
  output.note(fmt::format("fetched {}, kept {}", counted_blobs(count[1], bytes[1]),
                          counted_blobs(count[0], bytes[0])));
  for (const archive::ArchivedImage& archived : report.images) {
    if (archived.left_out == 0) continue;
    output.note(
        fmt::format("{}: {} of the index's children are not in the archive, since the "
                    "lock has no such platform; tools that copy whole indexes will miss "
                    "them",
                    archived.image.reference, archived.left_out));
  }
}

archive::Report make(const std::vector<lock::LockedProfile>& locked, const fs::path& folder,
                     Context& context) {
  oci::Registry registry =
      oci::connect(context.system, context.settings, registry_talk(context.output));
  ProgressLine line{context.output, context.system.clock};
  return archive::archive(locked, folder, registry, watch_on(line, context.output));
}

int to_stdout(const std::vector<lock::LockedProfile>& locked, Context& context) {
  if (context.output.terminal().out_is_terminal) {
    throw Error{"usage.bad_value",
                "an archive is nothing for a terminal: redirect standard output, or name a folder",
                {{"command", "archive"}}};
  }
  const sys::TemporaryFolder folder{context.system.environment.temporary_directory()};
  say_totals(make(locked, folder.path(), context), context.output);
  archive::pack_to_stdout(folder.path(), context.system.processes);
  return 0;
}

int run(const Arguments& arguments, Context& context) {
  apply_registry_options(arguments, context.settings);
  ExitCode code = ExitCode::ok;
  const auto locked = locked_images(arguments, context, code);
  if (!locked) return static_cast<int>(code);
  const std::string target = arguments.value_or("DIR", "");
  if (target == "-") return to_stdout(*locked, context);

  const archive::Report report = make(*locked, target, context);
  say_totals(report, context.output);
  if (context.output.json) {
    context.output.result_json(to_json(report, target));
    return 0;
  }
  for (const archive::ArchivedImage& archived : report.images) {
    context.output.result(fmt::format("{} {}\n", archived.image.root.digest.to_string(),
                                      printable(archived.image.reference)));
  }
  return 0;
}

}  // namespace

extern const Command archive_command{
    .name = "archive",
    .summary = "store the locked images in a folder or a tar stream",
    .options = options,
    .run = run,
    .description =
        "An OCI image layout, fetched by the locked digests only; run again, it fetches what is "
        "missing.\n"
        "`sparkrun restore` loads it into an engine without a network; skopeo reads it as well."};

}  // namespace sparkrun::cli
