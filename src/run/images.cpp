// SPDX-License-Identifier: MIT
#include "run/images.hpp"

#include "base/embedded.hpp"
#include "base/text.hpp"
#include "lock/store.hpp"
#include "run/pinned_tag.hpp"
#include "sys/files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace sparkrun::run {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> digests_of(const lock::Lockfile& lock) {
  std::vector<std::string> digests;
  const auto add = [&](const std::optional<Digest>& digest) {
    if (digest) digests.push_back(digest->to_string());
  };
  add(lock.index);
  for (const auto& [platform, pin] : lock.platforms) {
    digests.push_back(pin.manifest.to_string());
    add(pin.config);
  }
  return digests;
}

class Needs {
 public:
  void add_lock(const fs::path& path) {
    if (!seen_.insert(path).second) return;
    const auto text = sys::read_file(path);
    if (!text) return;
    const lock::Lockfile lock = lock::Lockfile::parse(*text, path.string());
    needs_.push_back({.who = "lock " + path.string(), .digests = digests_of(lock)});
  }

  void add_folder(const fs::path& folder) {
    for (const std::string& name : sys::list_files(folder)) {
      if (name.ends_with(".lock")) add_lock(folder / name);
    }
  }

  void add_built_in() {
    for (const EmbeddedFile& file : embedded_files()) {
      if (!file.path.starts_with("lockfiles/")) continue;
      const lock::Lockfile lock = lock::Lockfile::parse(file.content, std::string{file.path});
      needs_.push_back(
          {.who = fmt::format("built-in lock {}", file.path), .digests = digests_of(lock)});
    }
  }

  void add_run(const audit::Run& run, bool is_past) {
    // The last one: a reference may name a digest of which nobody knows the kind.
    std::vector<std::string> digests = {run.index, run.manifest, run.config,
                                        std::string{split_once(run.reference, '@').second}};
    std::erase(digests, "");
    needs_.push_back({.who = "run " + run.id,
                      .digests = std::move(digests),
                      .is_run = true,
                      .is_past = is_past});
  }

  std::vector<ImageNeed> take() { return std::move(needs_); }

 private:
  std::vector<ImageNeed> needs_;
  std::set<fs::path> seen_;
};

bool is_known_by(const engine::StoredImage& image, const std::string& digest) {
  return image.id == digest ||
         std::ranges::any_of(image.repo_digests,
                             [&](const std::string& name) { return name.ends_with("@" + digest); });
}

}  // namespace

bool KeptImage::has_other_names() const { return !std::ranges::all_of(image.tags, is_pinned_tag); }

std::vector<std::string> KeptImage::removable_names() const {
  std::vector<std::string> names;
  std::ranges::copy_if(image.tags, std::back_inserter(names), is_pinned_tag);
  if (has_other_names()) return names;
  names.insert(names.end(), image.repo_digests.begin(), image.repo_digests.end());
  names.push_back(image.id);  // podman keeps it without a name
  return names;
}

std::vector<ImageNeed> image_needs(const profile::Project& project, const sys::System& system,
                                   const std::vector<audit::Run>& runs, TimePoint since) {
  Needs needs;
  needs.add_folder(project.root / "lockfiles");
  needs.add_folder(system.environment.config_directory() / "lockfiles");
  needs.add_built_in();
  for (const audit::Run& run : runs) {
    if (fs::path{run.lock_path}.is_absolute()) needs.add_lock(run.lock_path);
    needs.add_run(run, !run.time || *run.time < since);
  }
  return needs.take();
}

std::vector<KeptImage> kept_images(engine::Engine& engine, const std::vector<ImageNeed>& needs) {
  std::vector<KeptImage> kept;
  for (engine::StoredImage& image : engine.list_images(std::string{pinned_tags_pattern})) {
    if (std::ranges::none_of(image.tags, is_pinned_tag)) continue;
    KeptImage one{.image = std::move(image), .needed_by = {}};
    for (const ImageNeed& need : needs) {
      const bool is_needed = std::ranges::any_of(
          need.digests, [&](const std::string& digest) { return is_known_by(one.image, digest); });
      if (is_needed && !need.is_past) one.needed_by.push_back(need.who);
      one.is_own |= is_needed && need.is_run;
    }
    kept.push_back(std::move(one));
  }
  return kept;
}

}  // namespace sparkrun::run
