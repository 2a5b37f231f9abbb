// SPDX-License-Identifier: MIT
#include "oci/manifest.hpp"

#include "base/error.hpp"
#include "base/json_value.hpp"
#include "base/text.hpp"
#include "oci/media_type.hpp"

#include <fmt/format.h>

namespace sparkrun::oci {
namespace {

constexpr size_t shown_length_max = 100;
constexpr long long descriptor_size_max = 1LL << 46;  // 64 TiB: sums of them cannot overflow

[[noreturn]] void refuse(const std::string& why) { throw Error{"registry.not_a_registry", why}; }

std::string shown(std::string_view text) { return one_line(text.substr(0, shown_length_max)); }

bool is_known(std::string_view type) {
  return media_type::is_index(type) || media_type::is_manifest(type);
}

// `application/json; charset=utf-8` without its parameters.
std::string bare_type(std::string_view content_type) {
  return to_lower(trim(split_once(content_type, ';').first));
}

bool says_nothing(std::string_view type) {
  return type.empty() || type == "text/plain" || type == "application/json" ||
         type == "application/octet-stream";
}

std::optional<Platform> parse_platform(const Json& platform) {
  const std::string os = string_or(platform, "os"), cpu = string_or(platform, "architecture");
  const std::string variant = string_or(platform, "variant");
  if (!Platform::is_part(os) || !Platform::is_part(cpu)) return std::nullopt;
  if (!variant.empty() && !Platform::is_part(variant)) return std::nullopt;
  return Platform::of(os, cpu, variant);
}

Descriptor parse_descriptor(const Json& json) {
  const std::string digest = string_or(json, "digest");
  if (!Digest::is_valid(digest)) {
    refuse(fmt::format("a descriptor has the digest `{}`", shown(digest)));
  }
  const long long size = integer_or(json, "size", -1);
  if (size < 0 || size > descriptor_size_max) {
    refuse(fmt::format("the descriptor of {} has no valid size", digest));
  }
  Descriptor descriptor{.media_type = string_or(json, "mediaType"),
                        .digest = Digest::parse(digest),
                        .size = size,
                        .platform = parse_platform(member(json, "platform"))};
  const Json& annotations = member(json, "annotations");
  if (annotations.is_object()) {
    for (const auto& [key, value] : annotations.items()) {
      if (value.is_string()) descriptor.annotations.emplace(key, value.get<std::string>());
    }
  }
  return descriptor;
}

std::vector<Descriptor> parse_descriptors(const Json& list) {
  std::vector<Descriptor> descriptors;
  for (const Json& item : list) descriptors.push_back(parse_descriptor(item));
  return descriptors;
}

Json parse_object(std::string_view body, std::string_view content_type) {
  const std::string_view start = trim(body);
  if (content_type == "text/html" || start.starts_with('<')) {
    refuse("the answer is a web page, not a manifest");
  }
  const auto json = parse_json(body);
  if (!json || !json->is_object()) refuse("the answer is not a JSON document");
  return *json;
}

// The type that header and body agree on. `kind` is what the members of the body say.
std::string agreed_type(std::string_view header, std::string_view field, Kind kind) {
  if (!says_nothing(header) && !is_known(header)) {
    refuse(fmt::format("the answer is of type `{}`", shown(header)));
  }
  if (!field.empty() && !is_known(field)) {
    refuse(fmt::format("the document is of type `{}`", shown(field)));
  }
  if (is_known(header) && !field.empty() && header != field) {
    refuse(fmt::format("the header says `{}`, the document `{}`", header, field));
  }
  const std::string_view by_shape =
      kind == Kind::index ? media_type::oci_index : media_type::oci_manifest;
  const std::string_view type = !field.empty() ? field : is_known(header) ? header : by_shape;
  if (media_type::is_index(type) != (kind == Kind::index)) {
    refuse(fmt::format("a document of type `{}` has the members of {}", type,
                       kind == Kind::index ? "an index" : "a manifest"));
  }
  return std::string{type};
}

}  // namespace

std::string_view to_string(Kind kind) { return kind == Kind::index ? "index" : "manifest"; }

Manifest parse_manifest(std::string_view body, std::string_view content_type) {
  const std::string header = bare_type(content_type);
  const Json json = parse_object(body, header);
  const long long version = integer_or(json, "schemaVersion", 0);
  if (version == 1) refuse("the manifest has the obsolete schemaVersion 1, which names no config");
  if (version != 2) refuse("the document has no schemaVersion 2");

  const Json& children = member(json, "manifests");
  const Json& config = member(json, "config");
  const Json& layers = member(json, "layers");
  // Two programs would read two different images out of such a document (CVE-2021-41190).
  if (!children.is_null() && !(config.is_null() && layers.is_null())) {
    refuse("the document is an index and a manifest at once");
  }
  Manifest manifest{.kind = children.is_null() ? Kind::manifest : Kind::index};
  manifest.media_type = agreed_type(header, string_or(json, "mediaType"), manifest.kind);
  if (manifest.kind == Kind::index) {
    if (!children.is_array()) refuse("the index has no list of manifests");
    if (children.size() > children_max) {
      refuse(fmt::format("the index has more than {} children", children_max));
    }
    manifest.manifests = parse_descriptors(children);
    return manifest;
  }
  if (!config.is_object()) refuse("the manifest has no config");
  if (!layers.is_array()) refuse("the manifest has no list of layers");
  manifest.config = parse_descriptor(config);
  manifest.layers = parse_descriptors(layers);
  return manifest;
}

}  // namespace sparkrun::oci
