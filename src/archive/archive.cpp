// SPDX-License-Identifier: MIT
#include "archive/archive.hpp"

#include "archive/download.hpp"
#include "archive/image_tree.hpp"
#include "archive/store.hpp"
#include "base/error.hpp"

#include <climits>
#include <fmt/format.h>

#include <algorithm>
#include <memory>

namespace sparkrun::archive {
namespace {

// An image, whoever locks it.
struct Wanted {
  oci::Reference reference;
  Digest root;
  std::vector<std::string> profiles;
  std::map<std::string, Digest> platforms;
  std::unique_ptr<ImageTree> tree = nullptr;
};

// Each image once: two profiles may lock the same one, for other platforms.
std::vector<Wanted> group(const std::vector<lock::LockedProfile>& locked) {
  std::map<std::pair<std::string, Digest>, Wanted> images;
  for (const auto& [profile, lock] : locked) {
    const Digest root = lock::locked_root(lock);
    const std::string& reference = lock.taken.empty() ? lock.image : lock.taken;
    Wanted& image =
        images
            .try_emplace({reference, root}, Wanted{.reference = oci::Reference::parse(reference),
                                                   .root = root,
                                                   .profiles = {},
                                                   .platforms = {}})
            .first->second;
    image.profiles.push_back(profile);
    for (const auto& [platform, pin] : lock.platforms) {
      image.platforms.emplace(platform, pin.manifest);
    }
  }
  std::vector<Wanted> result;
  for (auto& [key, image] : images) {
    std::vector<Digest> manifests;
    for (const auto& [platform, manifest] : image.platforms) manifests.push_back(manifest);
    image.tree = std::make_unique<ImageTree>(image.root, std::move(manifests));
    std::ranges::sort(image.profiles);
    result.push_back(std::move(image));
  }
  return result;
}

// One call of archive().
class Archiver {
 public:
  Archiver(const Store& store, oci::Registry& registry, const Watch& watch)
      : store_(store), registry_(registry), watch_(watch) {}

  Report run(std::vector<Wanted> images) {
    fetch_documents(images);
    choose_blobs(images);
    fetch_blobs();
    Report report;
    std::vector<LayoutImage> listed;
    for (const Wanted& image : images) {
      report.images.push_back({.image = {.root = image.tree->root(),
                                         .reference = image.reference.to_string(),
                                         .profiles = image.profiles},
                               .platforms = image.platforms,
                               .left_out = image.tree->left_out()});
      listed.push_back(report.images.back().image);
    }
    for (const auto& [digest, blob] : blobs_) report.blobs.push_back(blob);
    const std::string old = store_.read_top(index_name).value_or("");
    const std::string text = add_images(old, std::move(listed));
    if (text != old) store_.write_top(index_name, text);
    return report;
  }

 private:
  void refuse_if_offline(const oci::Reference& reference) {
    if (registry_.client().options.offline) throw oci::offline_error(reference);
  }

  void fetch_documents(std::vector<Wanted>& images) {
    std::vector<std::unique_ptr<DocumentFetch>> fetches;
    std::vector<sys::HttpConversation*> conversations;
    for (Wanted& image : images) {
      if (complete_from_store(*image.tree, store_)) continue;
      refuse_if_offline(image.reference);
      fetches.push_back(std::make_unique<DocumentFetch>(image.reference, registry_.client(),
                                                        *image.tree, store_));
      conversations.push_back(fetches.back().get());
    }
    registry_.drive(conversations);
    for (const auto& fetch : fetches) {
      if (fetch->error()) throw Error{*fetch->error()};
      for (const Digest& digest : fetch->fetched()) note(digest, 0, true);
    }
  }

  // What was fetched stays so, whichever image comes upon it later.
  void note(const Digest& digest, long long bytes, bool was_fetched) {
    ArchivedBlob& blob =
        blobs_.try_emplace(digest, ArchivedBlob{.digest = digest, .was_fetched = was_fetched})
            .first->second;
    blob.bytes = std::max(blob.bytes, bytes);
  }

  // Looks at what is there already, and sorts what is missing by repository.
  void choose_blobs(const std::vector<Wanted>& images) {
    progress_ = {.doing = "verifying"};
    std::map<Digest, const Wanted*> owners;
    std::vector<oci::Descriptor> blobs;
    for (const Wanted& image : images) {
      for (const oci::Descriptor& document : image.tree->documents()) {
        note(document.digest, document.size, false);
      }
      for (const oci::Descriptor& blob : image.tree->blobs()) {
        if (!owners.emplace(blob.digest, &image).second) continue;
        blobs.push_back(blob);
        if (sys::regular_file_size(store_.path_of(blob.digest))) progress_.expect(blob.size);
      }
    }
    for (const oci::Descriptor& blob : blobs) {
      const bool is_whole = !store_.fault_of(blob, [&](long long count) {
        watch_.check();
        count_bytes(count);
      });
      note(blob.digest, blob.size, !is_whole);
      if (is_whole) continue;
      const oci::Reference& reference = owners.at(blob.digest)->reference;
      refuse_if_offline(reference);
      missing_[reference.name()].emplace_back(reference, blob);
    }
  }

  void count_bytes(long long count) {
    progress_.bytes += count;
    watch_.tell(progress_);
  }

  void fetch_blobs() {
    progress_ = {.doing = "fetching"};
    for (const auto& [repository, blobs] : missing_) {
      for (const auto& [reference, blob] : blobs) progress_.expect(blob.size);
      progress_.blobs_total += blobs.size();
    }
    for (const auto& [repository, blobs] : missing_) fetch_from_repository(blobs);
  }

  // The small ones first: who begins with a repository that nobody has asked yet lets the others
  // wait for the end of that.
  void fetch_from_repository(const std::vector<std::pair<oci::Reference, oci::Descriptor>>& blobs) {
    BlobQueue queue{.waiting = {},
                    .failure = std::nullopt,
                    .on_received = [&](long long count) { count_bytes(count); },
                    .on_whole =
                        [&] {
                          ++progress_.blobs;
                          watch_.tell(progress_);
                        }};
    for (const auto& [reference, blob] : blobs) queue.waiting.push_back(blob);
    std::ranges::sort(queue.waiting, {}, &oci::Descriptor::size);
    std::vector<std::unique_ptr<BlobFetch>> fetches;
    std::vector<sys::HttpConversation*> conversations;
    while (fetches.size() < std::min(downloads_max, blobs.size())) {
      fetches.push_back(
          std::make_unique<BlobFetch>(blobs.front().first, registry_.client(), queue, store_));
      conversations.push_back(fetches.back().get());
    }
    registry_.drive(conversations);
    if (queue.failure) throw Error{*queue.failure};
  }

  const Store& store_;
  oci::Registry& registry_;
  const Watch& watch_;
  Progress progress_;
  std::map<Digest, ArchivedBlob> blobs_;
  // By registry and repository.
  std::map<std::string, std::vector<std::pair<oci::Reference, oci::Descriptor>>> missing_;
};

}  // namespace

void Progress::expect(long long more_bytes) {
  bytes_total += std::min(more_bytes, LLONG_MAX - bytes_total);
}

Report archive(const std::vector<lock::LockedProfile>& locked, const fs::path& folder,
               oci::Registry& registry, const Watch& watch) {
  const Store store{folder};
  const sys::FileDescriptor lock = store.open_to_write();
  return Archiver{store, registry, watch}.run(group(locked));
}

}  // namespace sparkrun::archive
