// SPDX-License-Identifier: MIT
#include "archive/download.hpp"

#include "base/error.hpp"
#include "oci/media_type.hpp"

#include <fmt/format.h>

#include <exception>

namespace sparkrun::archive {
namespace {

constexpr mode_t blob_mode = 0644;

fs::path prepared_path(const Store& store, const Digest& digest) {
  fs::path path = store.path_of(digest);
  sys::make_directories(path.parent_path(), 0755);
  return path;
}

}  // namespace

bool complete_from_store(ImageTree& tree, const Store& store) {
  while (const auto wanted = tree.next()) {
    const auto body = store.read_document(wanted->digest);
    if (!body) return false;
    tree.add(*body);
  }
  return true;
}

DocumentFetch::DocumentFetch(const oci::Reference& reference, oci::Client& client, ImageTree& tree,
                             const Store& store)
    : RepositoryConversation(reference, client), tree_(tree), store_(store) {}

oci::RepositoryConversation::Question DocumentFetch::first_question() { return question(); }

oci::RepositoryConversation::Question DocumentFetch::question() const {
  const std::string digest = tree_.next()->digest.to_string();
  return {.path = "manifests/" + digest,
          .accept = std::string{oci::media_type::accepted},
          .what = fmt::format("{}@{}", reference().repository(), digest)};
}

std::optional<oci::RepositoryConversation::Question> DocumentFetch::on_answer(
    const sys::HttpResponse& response) {
  const Digest digest = tree_.next()->digest;
  // First what it is: a login page should be called by its name.
  oci::parse_manifest(response.body, response.header("Content-Type").value_or(""));
  if (!digest.matches(response.body)) {
    throw Error{"registry.content_mismatch",
                fmt::format("the content does not hash to {}", digest.to_string())};
  }
  tree_.add(response.body);
  store_.write_document(digest, response.body);
  fetched_.push_back(digest);
  if (complete_from_store(tree_, store_)) return std::nullopt;
  return question();
}

BlobSink::BlobSink(const Store& store, oci::Descriptor blob, BlobQueue& queue)
    : blob_(std::move(blob)),
      queue_(queue),
      file_(prepared_path(store, blob_.digest)),
      hasher_(blob_.digest) {}

// libcurl calls, so nothing may be thrown through it.
template <typename Action>
bool BlobSink::guarded(Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    failure_ = error;
  } catch (const std::exception& error) {
    failure_ = Error{"bug", fmt::format("unexpected: {}", error.what())};
  }
  return !failure_;
}

void BlobSink::restart() {
  guarded([&] {
    file_.restart();
    hasher_.restart();
    queue_.on_received(-received_);
    received_ = 0;
  });
}

bool BlobSink::take(std::string_view bytes) {
  if (failure_ || queue_.failure) return false;
  return guarded([&] {
    const auto count = static_cast<long long>(bytes.size());
    if (count > blob_.size - received_) {
      throw Error{"registry.content_mismatch", fmt::format("more than the {} bytes of {} came",
                                                           blob_.size, blob_.digest.to_string())};
    }
    file_.write(bytes);
    hasher_.add(bytes);
    received_ += count;
    queue_.on_received(count);
  });
}

std::optional<Error> BlobSink::failure() const { return failure_ ? failure_ : queue_.failure; }

void BlobSink::finish() {
  if (failure_) throw Error{*failure_};
  if (received_ != blob_.size || !hasher_.matches()) {
    throw Error{"registry.content_mismatch", fmt::format("the {} bytes that came do not hash to {}",
                                                         received_, blob_.digest.to_string())};
  }
  file_.commit(sys::masked(blob_mode));
}

BlobFetch::BlobFetch(const oci::Reference& reference, oci::Client& client, BlobQueue& queue,
                     const Store& store)
    : RepositoryConversation(reference, client), queue_(queue), store_(store) {}

// At the next endpoint what came from the one before does not count.
oci::RepositoryConversation::Question BlobFetch::first_question() {
  if (!sink_) return next_question();
  const oci::Descriptor blob = sink_->blob();
  sink_->restart();
  sink_ = std::make_unique<BlobSink>(store_, blob, queue_);
  return question();
}

oci::RepositoryConversation::Question BlobFetch::next_question() {
  sink_ = std::make_unique<BlobSink>(store_, queue_.waiting.front(), queue_);
  queue_.waiting.pop_front();
  return question();
}

oci::RepositoryConversation::Question BlobFetch::question() const {
  const std::string digest = sink_->blob().digest.to_string();
  return {.path = "blobs/" + digest,
          .accept = "",
          .what = fmt::format("{}@{}", reference().repository(), digest),
          .sink = sink_.get()};
}

std::optional<oci::RepositoryConversation::Question> BlobFetch::on_answer(
    const sys::HttpResponse& /*response*/) {
  sink_->finish();
  queue_.on_whole();
  if (queue_.waiting.empty() || queue_.failure) return std::nullopt;
  return next_question();
}

void BlobFetch::on_failure(const Error& error) {
  if (!queue_.failure) queue_.failure = error;
}

}  // namespace sparkrun::archive
