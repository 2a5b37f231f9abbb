// SPDX-License-Identifier: MIT
#pragma once

#include "base/digest.hpp"
#include "oci/media_type.hpp"
#include "oci/platform.hpp"
#include "support/fake_http.hpp"

#include <fmt/format.h>

#include <string>
#include <vector>

namespace sparkrun::test {

inline std::string digest_of(const std::string& body) {
  return Digest::sha256_of(body).to_string();
}

// The documents of an image for one platform, as a registry would store them.
struct FakeImage {
  oci::Platform platform;
  std::string config;
  std::string manifest;
};

inline const std::string fake_layer = "sha256:" + std::string(64, '1');
constexpr long long fake_layer_bytes = 1000;

inline FakeImage make_image(const std::string& platform, const std::string& env = "A=b") {
  FakeImage image{.platform = oci::Platform::parse(platform)};
  image.config = fmt::format(
      R"({{"os":"{}","architecture":"{}","variant":"{}","created":"2026-07-02T11:04:19Z",)"
      R"("config":{{"Env":["{}"]}},"rootfs":{{"type":"layers","diff_ids":["{}"]}}}})",
      image.platform.os, image.platform.architecture, image.platform.variant, env, fake_layer);
  image.manifest =
      fmt::format(R"({{"schemaVersion":2,"mediaType":"{}","config":{{"digest":"{}","size":{}}},)"
                  R"("layers":[{{"digest":"{}","size":{}}}]}})",
                  oci::media_type::oci_manifest, digest_of(image.config), image.config.size(),
                  fake_layer, fake_layer_bytes);
  return image;
}

inline std::string child_json(const std::string& body, std::string_view media_type,
                              const oci::Platform& platform) {
  return fmt::format(
      R"({{"mediaType":"{}","digest":"{}","size":{},"platform":{{"os":"{}","architecture":"{}","variant":"{}"}}}})",
      media_type, digest_of(body), body.size(), platform.os, platform.architecture,
      platform.variant);
}

inline std::string child_json(const FakeImage& image) {
  return child_json(image.manifest, oci::media_type::oci_manifest, image.platform);
}

inline std::string make_index(const std::vector<std::string>& children) {
  return fmt::format(R"({{"schemaVersion":2,"mediaType":"{}","manifests":[{}]}})",
                     oci::media_type::oci_index, fmt::join(children, ","));
}

// `repository` is a URL: https://reg.test/v2/app.
inline void serve_image(FakeHttp& http, const std::string& repository, const FakeImage& image) {
  http.on(repository + "/manifests/" + digest_of(image.manifest)).reply(200, image.manifest);
  http.on(repository + "/blobs/" + digest_of(image.config)).reply(200, image.config);
}

inline FakeHttp::Headers bearer_challenge(const std::string& realm) {
  return {{"WWW-Authenticate", fmt::format(R"(Bearer realm="{}",service="reg")", realm)}};
}

}  // namespace sparkrun::test
