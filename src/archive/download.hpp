// SPDX-License-Identifier: MIT
#pragma once

#include "archive/image_tree.hpp"
#include "archive/store.hpp"
#include "archive/watch.hpp"
#include "oci/registry.hpp"

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace sparkrun::archive {

constexpr size_t downloads_max = 4;  // at once

// What came is told, piece by piece; a negative number takes back what has to come again. Does not
// throw.
using OnReceived = std::function<void(long long)>;

// Adds to the tree what the store has; whether it is complete with that.
bool complete_from_store(ImageTree& tree, const Store& store);

// Asks a registry for the documents that the store lacks, writes them there, and completes the
// tree.
class DocumentFetch final : public oci::RepositoryConversation {
 public:
  // All outlive it. The tree is not complete.
  DocumentFetch(const oci::Reference& reference, oci::Client& client, ImageTree& tree,
                const Store& store);
  // Digests of what was asked for.
  [[nodiscard]] const std::vector<Digest>& fetched() const { return fetched_; }

 protected:
  [[nodiscard]] Question first_question() override;
  std::optional<Question> on_answer(const sys::HttpResponse& response) override;

 private:
  [[nodiscard]] Question question() const;

  ImageTree& tree_;
  const Store& store_;
  std::vector<Digest> fetched_;
};

// The blobs that are to be fetched from one repository, shared by those who fetch.
struct BlobQueue {
  std::deque<oci::Descriptor> waiting;
  std::optional<Error> failure;  // the first one; it ends all the others
  OnReceived on_received;
  std::function<void()> on_whole;
};

// One blob on its way into the store.
class BlobSink final : public sys::HttpSink {
 public:
  BlobSink(const Store& store, oci::Descriptor blob, BlobQueue& queue);

  [[nodiscard]] const oci::Descriptor& blob() const { return blob_; }
  [[nodiscard]] long long offset() const override { return received_; }
  void restart() override;
  bool take(std::string_view bytes) override;
  [[nodiscard]] std::optional<Error> failure() const override;
  // Throws `registry.content_mismatch` unless exactly the blob came, else it is in the store.
  void finish();

 private:
  template <typename Action>
  bool guarded(Action&& action);

  oci::Descriptor blob_;
  BlobQueue& queue_;
  sys::PendingFile file_;
  Hasher hasher_;
  long long received_ = 0;
  std::optional<Error> failure_;
};

// Fetches blobs of one repository, one after the other, until none is waiting.
class BlobFetch final : public oci::RepositoryConversation {
 public:
  // All outlive it. At least one blob is waiting when it begins.
  BlobFetch(const oci::Reference& reference, oci::Client& client, BlobQueue& queue,
            const Store& store);

 protected:
  [[nodiscard]] Question first_question() override;
  std::optional<Question> on_answer(const sys::HttpResponse& response) override;
  void on_failure(const Error& error) override;

 private:
  [[nodiscard]] Question next_question();
  [[nodiscard]] Question question() const;

  BlobQueue& queue_;
  const Store& store_;
  std::unique_ptr<BlobSink> sink_;
};

}  // namespace sparkrun::archive
