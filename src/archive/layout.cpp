// SPDX-License-Identifier: MIT
#include "archive/layout.hpp"

#include "base/error.hpp"
#include "base/json_value.hpp"
#include "base/text.hpp"
#include "oci/media_type.hpp"

#include <climits>
#include <fmt/format.h>

#include <algorithm>

namespace sparkrun::archive {
namespace {

constexpr std::string_view layout_version = "1.0.0";
constexpr size_t profile_name_max = 63;

const std::string reference_key = "org.opencontainers.image.ref.name";
const std::string profiles_key = "dev.sparkrun.profiles";  // separated by commas

[[noreturn]] void refuse(std::string_view file, const std::string& why) {
  throw Error{"archive.invalid", fmt::format("{}: {}", file, why)};
}

bool is_profile_name(std::string_view name) {
  constexpr std::string_view allowed = "abcdefghijklmnopqrstuvwxyz0123456789_-";
  return !name.empty() && name.size() <= profile_name_max && name.front() != '_' &&
         name.front() != '-' && name.find_first_not_of(allowed) == std::string_view::npos;
}

std::vector<std::string> parse_profiles(std::string_view text) {
  std::vector<std::string> names;
  for (const std::string_view name : split(text, ',')) {
    if (is_profile_name(name)) names.emplace_back(name);
  }
  return names;
}

void merge(std::vector<std::string>& into, const std::vector<std::string>& more) {
  into.insert(into.end(), more.begin(), more.end());
  std::ranges::sort(into);
  into.erase(std::ranges::unique(into).begin(), into.end());
}

LayoutImage to_image(oci::Descriptor descriptor) {
  const auto annotation = [&](const std::string& key) {
    const auto found = descriptor.annotations.find(key);
    return found == descriptor.annotations.end() ? std::string{} : found->second;
  };
  const std::string reference = annotation(reference_key), profiles = annotation(profiles_key);
  return {
      .root = std::move(descriptor), .reference = reference, .profiles = parse_profiles(profiles)};
}

Json to_json(const LayoutImage& image) {
  Json annotations = {{reference_key, image.reference}};
  if (!image.profiles.empty()) annotations[profiles_key] = join(image.profiles, ",");
  return {{"mediaType", image.root.media_type},
          {"digest", image.root.digest.to_string()},
          {"size", image.root.size},
          {"annotations", annotations}};
}

// What becomes of an entry that was there; `images` may take its profiles over.
bool stays(LayoutImage& old, std::vector<LayoutImage>& images) {
  bool is_of_same_reference = false;
  for (LayoutImage& image : images) {
    if (image.reference != old.reference) continue;
    is_of_same_reference = true;
    if (image.root.digest == old.root.digest) {
      merge(image.profiles, old.profiles);
      return false;
    }
    std::erase_if(old.profiles, [&](const std::string& name) {
      return std::ranges::find(image.profiles, name) != image.profiles.end();
    });
  }
  return !is_of_same_reference || !old.profiles.empty();
}

Json new_index() {
  return {{"schemaVersion", 2},
          {"mediaType", oci::media_type::oci_index},
          {"manifests", Json::array()}};
}

}  // namespace

std::string marker_text() {
  return to_json_line(Json{{"imageLayoutVersion", layout_version}}) + "\n";
}

void check_marker(std::string_view text) {
  const auto json = parse_json(text);
  if (!json || !json->is_object()) refuse(marker_name, "it is not a JSON document");
  const std::string version = string_or(*json, "imageLayoutVersion");
  if (version == layout_version) return;
  refuse(marker_name, fmt::format("the layout is of version `{}`, and this sparkrun knows {}",
                                  printable(version.substr(0, 40)), layout_version));
}

std::vector<LayoutImage> parse_index(std::string_view text) {
  std::vector<LayoutImage> images;
  try {
    oci::Manifest index = oci::parse_manifest(text, oci::media_type::oci_index);
    for (oci::Descriptor& entry : index.manifests) images.push_back(to_image(std::move(entry)));
  } catch (const Error& error) {
    refuse(index_name, error.what());
  }
  return images;
}

std::string add_images(std::string_view text, std::vector<LayoutImage> images) {
  Json index = text.empty() ? new_index() : parse_json(text).value_or(new_index());
  std::vector<LayoutImage> old = text.empty() ? std::vector<LayoutImage>{} : parse_index(text);
  Json entries = Json::array();
  for (size_t i = 0; i < old.size(); ++i) {
    const size_t profiles_before = old[i].profiles.size();
    if (!stays(old[i], images)) continue;
    Json entry = index["manifests"][i];
    if (old[i].profiles.size() != profiles_before)
      entry["annotations"][profiles_key] = join(old[i].profiles, ",");
    entries.push_back(std::move(entry));
  }
  for (const LayoutImage& image : images) entries.push_back(to_json(image));
  index["manifests"] = std::move(entries);
  return to_json_text(index);
}

}  // namespace sparkrun::archive
