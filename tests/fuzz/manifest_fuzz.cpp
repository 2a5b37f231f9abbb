// SPDX-License-Identifier: MIT
#include "base/json_value.hpp"
#include "base/text.hpp"
#include "fuzz/support.hpp"
#include "oci/image_config.hpp"
#include "oci/manifest.hpp"
#include "oci/media_type.hpp"

// The first line is the Content-Type, the rest is the body, read as a manifest or index and as an
// image config: what comes from a registry before anything is verified.
namespace sparkrun::fuzz {
namespace {

using oci::Kind;
using oci::Manifest;

constexpr long long size_max = 1LL << 46;

void check_refusal(const Error& error) {
  expect(std::string_view{error.what()}.size() < 700, "a registry cannot flood a terminal");
}

void check_descriptor(const oci::Descriptor& descriptor) {
  expect(descriptor.size >= 0 && descriptor.size <= size_max, "sizes can be added up");
  expect(Digest::is_valid(descriptor.digest.to_string()), "a digest is one");
  if (!descriptor.platform) return;
  expect(!descriptor.platform->os.empty() && !descriptor.platform->architecture.empty(),
         "a platform has its parts");
  expect(descriptor.platform->matches(*descriptor.platform), "a platform is itself");
}

void check(const Manifest& manifest) {
  const bool is_index = manifest.kind == Kind::index;
  expect(is_index ? oci::media_type::is_index(manifest.media_type)
                  : oci::media_type::is_manifest(manifest.media_type),
         "it is of one of the four media types, and of its kind");
  expect(manifest.config.has_value() != is_index, "a manifest has a config, an index none");
  expect(is_index ? manifest.layers.empty() : manifest.manifests.empty(), "it is not both");
  for (const auto& descriptor : manifest.manifests) check_descriptor(descriptor);
  for (const auto& descriptor : manifest.layers) check_descriptor(descriptor);
  if (manifest.config) check_descriptor(*manifest.config);
}

std::variant<Manifest, Error> parse(std::string_view body, std::string_view content_type) {
  return outcome_of({"registry.not_a_registry"},
                    [&] { return oci::parse_manifest(body, content_type); });
}

void try_manifest(std::string_view body, std::string_view content_type) {
  const auto outcome = parse(body, content_type);
  const auto* const manifest = std::get_if<Manifest>(&outcome);
  if (manifest == nullptr) return check_refusal(std::get<Error>(outcome));
  check(*manifest);
  const Json json = parse_json(body).value();
  const auto has = [&](std::string_view key) { return !member(json, key).is_null(); };
  expect(!has("manifests") || !(has("config") || has("layers")), "nobody reads another kind in it");
  // The header only confirms: without it the same document is read.
  const auto alone = std::get<Manifest>(parse(body, ""));
  expect(alone.kind == manifest->kind && alone.manifests.size() == manifest->manifests.size() &&
             alone.layers.size() == manifest->layers.size(),
         "no header changes what a body says");
  const std::string header = to_lower(trim(split_once(content_type, ';').first));
  expect(manifest->media_type == alone.media_type || manifest->media_type == header,
         "a media type is that of the header or of the body");
}

void try_image_config(std::string_view body) {
  const auto outcome =
      outcome_of({"registry.not_a_registry"}, [&] { return oci::parse_image_config(body); });
  const auto* const config = std::get_if<oci::ImageConfig>(&outcome);
  if (config == nullptr) return check_refusal(std::get<Error>(outcome));
  expect(!config->platform.os.empty() && !config->platform.architecture.empty(),
         "an image has a platform");
  expect(!config->diff_ids.empty(), "an image has layers");
  const Digest chain = oci::chain_id(config->diff_ids);
  expect((chain == config->diff_ids.front()) == (config->diff_ids.size() == 1), "its ChainID");
}

}  // namespace

void try_input(std::string_view input) {
  const auto [content_type, body] = split_once(input, '\n');
  try_manifest(body, content_type);
  try_image_config(body);
}

}  // namespace sparkrun::fuzz
