// SPDX-License-Identifier: MIT
#include "archive/restore.hpp"

#include "archive/layout.hpp"
#include "archive/store.hpp"
#include "archive/tar.hpp"
#include "base/error.hpp"
#include "base/json_value.hpp"
#include "base/text.hpp"
#include "oci/image_config.hpp"
#include "oci/media_type.hpp"

#include <climits>
#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace sparkrun::archive {
namespace {

constexpr int index_depth_max = 3;
constexpr size_t tag_hex_length = 12;
constexpr size_t images_max = 256;

[[noreturn]] void refuse(const std::string& why) { throw Error{"archive.invalid", why}; }

// The words of oci/ for what is no image, as a fault of the archive.
template <typename Action>
auto as_archive_fault(const Digest& digest, Action&& action) {
  try {
    return action();
  } catch (const Error& error) {
    if (error.id() != "registry.not_a_registry") throw;
    refuse(fmt::format("{}: {}", digest.to_string(), error.what()));
  }
}

std::vector<std::string> tags_of(const LayoutImage& image, const Digest& config) {
  const std::string hex = config.hex().substr(0, tag_hex_length);
  std::vector<std::string> tags;
  for (const std::string& profile : image.profiles) {
    tags.push_back(fmt::format("sparkrun/archive:{}-{}", profile, hex));
  }
  if (tags.empty()) tags.push_back("sparkrun/archive:image-" + hex);
  return tags;
}

// Finds the builds of a layout's images; what it reads it has verified.
class Selector {
 public:
  Selector(const Store& store, const oci::Platform& platform)
      : store_(store), platform_(platform) {}

  std::optional<RestorableImage> select(const LayoutImage& listed) const {
    const auto manifest = find_manifest(listed.root, 1);
    if (!manifest) return std::nullopt;
    const oci::Manifest parsed = document(*manifest);
    const auto config = as_archive_fault(
        parsed.config->digest, [&] { return oci::parse_image_config(read(*parsed.config)); });
    if (!config.platform.matches(platform_)) return std::nullopt;
    oci::Descriptor described = *manifest;
    described.media_type = parsed.media_type;
    return RestorableImage{.reference = listed.reference,
                           .profiles = listed.profiles,
                           .root = listed.root.digest,
                           .manifest = std::move(described),
                           .config = parsed.config->digest,
                           .layers = parsed.layers,
                           .tags = tags_of(listed, parsed.config->digest)};
  }

 private:
  [[nodiscard]] std::string read(const oci::Descriptor& descriptor) const {
    if (descriptor.size > static_cast<long long>(document_bytes_max)) {
      refuse(fmt::format("{} is too large for a document", descriptor.digest.to_string()));
    }
    if (const auto fault = store_.fault_of(descriptor, {})) {
      refuse(fmt::format("the blob {} {}", descriptor.digest.to_string(), *fault));
    }
    auto body = store_.read_document(descriptor.digest);
    if (!body) refuse(fmt::format("the blob {} changed", descriptor.digest.to_string()));
    return std::move(*body);
  }

  [[nodiscard]] oci::Manifest document(const oci::Descriptor& descriptor) const {
    return as_archive_fault(descriptor.digest,
                            [&] { return oci::parse_manifest(read(descriptor), ""); });
  }

  // An index may list builds that were left out.
  [[nodiscard]] bool is_here(const oci::Descriptor& descriptor) const {
    return sys::path_exists(store_.path_of(descriptor.digest));
  }

  [[nodiscard]] std::optional<oci::Descriptor> find_manifest(const oci::Descriptor& from,
                                                             int depth) const {
    const oci::Manifest parsed = document(from);
    if (parsed.kind == oci::Kind::manifest) return from;
    if (depth > index_depth_max) return std::nullopt;
    const auto is_build = [&](const oci::Descriptor& child) {
      return child.platform && is_here(child) && !oci::media_type::is_index(child.media_type);
    };
    for (const oci::Descriptor& child : parsed.manifests) {
      if (is_build(child) && *child.platform == platform_) return child;
    }
    for (const oci::Descriptor& child : parsed.manifests) {
      if (is_build(child) && child.platform->matches(platform_)) return child;
    }
    for (const oci::Descriptor& child : parsed.manifests) {
      if (!oci::media_type::is_index(child.media_type) || !is_here(child)) continue;
      if (auto found = find_manifest(child, depth + 1)) return found;
    }
    return std::nullopt;
  }

  const Store& store_;
  const oci::Platform& platform_;
};

void verify_layers(const std::vector<RestorableImage>& images, const Store& store,
                   const Watch& watch) {
  Progress progress{.doing = "verifying"};
  std::map<Digest, oci::Descriptor> layers;
  for (const RestorableImage& image : images) {
    for (const oci::Descriptor& layer : image.layers) {
      if (layers.emplace(layer.digest, layer).second) progress.expect(layer.size);
    }
  }
  progress.blobs_total = layers.size();
  for (const auto& [digest, layer] : layers) {
    const auto fault = store.fault_of(layer, [&](long long count) {
      watch.check();
      progress.bytes += count;
      watch.tell(progress);
    });
    if (fault) refuse(fmt::format("the blob {} {}", digest.to_string(), *fault));
    ++progress.blobs;
  }
}

std::vector<LayoutImage> read_layout(const Store& store) {
  const auto marker = store.read_top(marker_name);
  if (!marker) {
    refuse(fmt::format("{} is no archive: it has no `{}`", store.folder().string(), marker_name));
  }
  check_marker(*marker);
  const auto index = store.read_top(index_name);
  if (!index) {
    refuse(fmt::format("{} has no `{}`: it was not finished", store.folder().string(), index_name));
  }
  std::vector<LayoutImage> images = parse_index(*index);
  if (images.empty()) refuse(fmt::format("{} holds no image", store.folder().string()));
  if (images.size() > images_max) refuse(fmt::format("there are more than {} images", images_max));
  return images;
}

std::string blob_path(const Digest& digest) {
  return fmt::format("blobs/{}/{}", split_once(digest.to_string(), ':').first, digest.hex());
}

// What `docker save` writes and the classic image store reads (moby, image/tarexport).
std::string docker_manifest(const std::vector<RestorableImage>& images) {
  Json list = Json::array();
  for (const RestorableImage& image : images) {
    Json layers = Json::array();
    for (const oci::Descriptor& layer : image.layers) layers.push_back(blob_path(layer.digest));
    list.push_back(
        {{"Config", blob_path(image.config)}, {"RepoTags", image.tags}, {"Layers", layers}});
  }
  return to_json_line(list);
}

// For the containerd store, which keeps the digests. It lists manifests: an index would name builds
// that are not in the stream.
std::string oci_index(const std::vector<RestorableImage>& images) {
  Json list = Json::array();
  for (const RestorableImage& image : images) {
    for (const std::string& tag : image.tags) {
      list.push_back({{"mediaType", image.manifest.media_type},
                      {"digest", image.manifest.digest.to_string()},
                      {"size", image.manifest.size},
                      {"annotations",
                       {{"io.containerd.image.name", "docker.io/" + tag},
                        {"org.opencontainers.image.ref.name", split_once(tag, ':').second}}}});
    }
  }
  return to_json_line(
      Json{{"schemaVersion", 2}, {"mediaType", oci::media_type::oci_index}, {"manifests", list}});
}

bool has_wanted_id(const RestorableImage& image, const engine::LocalImage& local) {
  return local.id == image.config.to_string() || local.id == image.manifest.digest.to_string() ||
         local.id == image.root.to_string();
}

void check_loaded(const RestorableImage& image, engine::Engine& engine) {
  for (const std::string& tag : image.tags) {
    const auto local = engine.find_image(tag);
    if (local && has_wanted_id(image, *local)) continue;
    throw Error{"engine.other_content",
                fmt::format("after loading, the engine's {} is {}, not the archived {}", tag,
                            local ? local->id : "absent", image.config.to_string()),
                {{"image", tag}}};
  }
}

}  // namespace

long long RestorableImage::bytes() const {
  long long sum = 0;
  for (const oci::Descriptor& layer : layers) sum += std::min(layer.size, LLONG_MAX - sum);
  return sum;
}

Selection select_images(const fs::path& folder, const oci::Platform& platform, const Watch& watch) {
  const Store store{fs::absolute(folder)};
  const Selector selector{store, platform};
  Selection selection;
  for (const LayoutImage& listed : read_layout(store)) {
    watch.check();
    if (auto image = selector.select(listed))
      selection.images.push_back(std::move(*image));
    else
      selection.skipped.push_back(listed.reference.empty() ? listed.root.digest.to_string()
                                                           : listed.reference);
  }
  if (selection.images.empty()) {
    throw Error{"registry.platform_missing",
                fmt::format("the archive has no build for {} of {}", platform.to_string(),
                            printable(join(selection.skipped, ", "))),
                {{"platform", platform.to_string()}}};
  }
  verify_layers(selection.images, store, watch);
  return selection;
}

bool is_loaded(const RestorableImage& image, engine::Engine& engine) {
  return std::ranges::all_of(image.tags, [&](const std::string& tag) {
    const auto local = engine.find_image(tag);
    return local && has_wanted_id(image, *local);
  });
}

void load_images(const std::vector<RestorableImage>& images, const fs::path& folder,
                 const fs::path& scratch, engine::Engine& engine) {
  const Store store{fs::absolute(folder)};
  const sys::TemporaryFolder staging{scratch};
  std::set<Digest> digests;
  for (const RestorableImage& image : images) {
    digests.insert({image.config, image.manifest.digest});
    for (const oci::Descriptor& layer : image.layers) digests.insert(layer.digest);
  }
  for (const Digest& digest : digests) {
    const fs::path link = staging.path() / blob_path(digest);
    sys::make_directories(link.parent_path(), 0755);
    sys::make_link(store.path_of(digest), link);
  }
  sys::write_file_atomically(staging.path() / marker_name, marker_text());
  sys::write_file_atomically(staging.path() / index_name, oci_index(images));
  sys::write_file_atomically(staging.path() / "manifest.json", docker_manifest(images));
  engine.load(pack_command(staging.path()));
  for (const RestorableImage& image : images) check_loaded(image, engine);
}

}  // namespace sparkrun::archive
