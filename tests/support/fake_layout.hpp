// SPDX-License-Identifier: MIT
#pragma once

#include "archive/layout.hpp"
#include "lock/lockfile.hpp"
#include "support/fake_image.hpp"
#include "support/temp_dir.hpp"

#include <fmt/format.h>

#include <string>
#include <vector>

namespace sparkrun::test {

// An image with a layer that exists, unlike that of FakeImage.
struct WholeImage {
  std::string platform;
  std::string layer;
  std::string config;
  std::string manifest;
};

inline WholeImage make_whole_image(const std::string& platform, const std::string& layer) {
  const auto parsed = oci::Platform::parse(platform);
  WholeImage image{.platform = platform, .layer = layer};
  image.config = fmt::format(
      R"({{"os":"{}","architecture":"{}","config":{{}},"rootfs":{{"type":"layers","diff_ids":["{}"]}}}})",
      parsed.os, parsed.architecture, digest_of(layer));
  image.manifest =
      fmt::format(R"({{"schemaVersion":2,"mediaType":"{}","config":{{"digest":"{}","size":{}}},)"
                  R"("layers":[{{"digest":"{}","size":{}}}]}})",
                  oci::media_type::oci_manifest, digest_of(image.config), image.config.size(),
                  digest_of(layer), layer.size());
  return image;
}

inline std::string child_of(const WholeImage& image, const std::string& more = "") {
  const auto parsed = oci::Platform::parse(image.platform);
  return fmt::format(
      R"({{"mediaType":"{}","digest":"{}","size":{},"platform":{{"os":"{}","architecture":"{}"}}{}}})",
      oci::media_type::oci_manifest, digest_of(image.manifest), image.manifest.size(), parsed.os,
      parsed.architecture, more);
}

// An attestation of the build with that manifest, as BuildKit makes it.
inline std::string attestation_child(const WholeImage& attestation, const std::string& manifest) {
  return child_of(
      attestation,
      fmt::format(R"(,"annotations":{{"vnd.docker.reference.digest":"{}"}})", digest_of(manifest)));
}

inline void serve_whole(FakeHttp& http, const std::string& repository, const WholeImage& image) {
  http.on(repository + "/manifests/" + digest_of(image.manifest)).reply(200, image.manifest);
  http.on(repository + "/blobs/" + digest_of(image.config)).reply(200, image.config);
  http.on(repository + "/blobs/" + digest_of(image.layer)).reply(200, image.layer);
}

inline lock::Lockfile lock_of(const std::string& image, const std::string& index,
                              const std::vector<WholeImage>& builds) {
  lock::Lockfile lock{.image = image};
  if (!index.empty()) lock.index = Digest::sha256_of(index);
  for (const WholeImage& build : builds) {
    lock.platforms.emplace(build.platform,
                           lock::PlatformPin{.manifest = Digest::sha256_of(build.manifest)});
  }
  return lock;
}

inline std::string blob_path(const std::string& body) {
  return "blobs/sha256/" + digest_of(body).substr(7);
}

// Writes a blob into the layout `below`.
inline void write_blob(const TempDir& folder, const std::string& below, const std::string& body) {
  folder.write(below + "/" + blob_path(body), body);
}

// A layout of one image, whose root is an index with these builds.
inline std::string write_layout(const TempDir& folder, const std::string& below,
                                const std::vector<WholeImage>& builds) {
  std::vector<std::string> children;
  for (const WholeImage& build : builds) {
    children.push_back(child_of(build));
    for (const std::string& body : {build.layer, build.config, build.manifest}) {
      write_blob(folder, below, body);
    }
  }
  const std::string index = make_index(children);
  write_blob(folder, below, index);
  const archive::LayoutImage image{.root = {.media_type = std::string{oci::media_type::oci_index},
                                            .digest = Digest::sha256_of(index),
                                            .size = static_cast<long long>(index.size())},
                                   .reference = "reg.test/app:1",
                                   .profiles = {"job"}};
  folder.write(below + "/index.json", archive::add_images("", {image}));
  folder.write(below + "/oci-layout", archive::marker_text());
  return index;
}

}  // namespace sparkrun::test
