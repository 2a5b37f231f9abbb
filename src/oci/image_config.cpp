// SPDX-License-Identifier: MIT
#include "oci/image_config.hpp"

#include "base/error.hpp"
#include "base/json_value.hpp"

namespace sparkrun::oci {
namespace {

[[noreturn]] void refuse(const std::string& why) {
  throw Error{"registry.not_a_registry", "the config is not that of an image: " + why};
}

std::vector<std::string> strings(const Json& list) {
  std::vector<std::string> result;
  for (const Json& item : list) {
    if (item.is_string()) result.push_back(item.get<std::string>());
  }
  return result;
}

// Docker writes an Entrypoint or Cmd of one word as a bare string in very old images.
std::vector<std::string> words(const Json& value) {
  if (value.is_string()) return {value.get<std::string>()};
  return value.is_array() ? strings(value) : std::vector<std::string>{};
}

std::vector<Digest> parse_diff_ids(const Json& list) {
  if (!list.is_array() || list.empty()) refuse("it lists no layers");
  std::vector<Digest> diff_ids;
  for (const Json& item : list) {
    const std::string text = item.is_string() ? item.get<std::string>() : "";
    if (!Digest::is_valid(text)) refuse("one of its diff_ids is not a digest");
    diff_ids.push_back(Digest::parse(text));
  }
  return diff_ids;
}

}  // namespace

ImageConfig parse_image_config(std::string_view body) {
  const auto json = parse_json(body);
  if (!json || !json->is_object()) refuse("it is not a JSON document");
  const std::string os = string_or(*json, "os"), cpu = string_or(*json, "architecture");
  const std::string variant = string_or(*json, "variant");
  if (!Platform::is_part(os) || !Platform::is_part(cpu)) refuse("it names no os and architecture");
  if (!variant.empty() && !Platform::is_part(variant)) refuse("its variant is none");
  const Json& settings = member(*json, "config");
  ImageConfig config{.platform = Platform::of(os, cpu, variant),
                     .created = string_or(*json, "created"),
                     .env = words(member(settings, "Env")),
                     .entrypoint = words(member(settings, "Entrypoint")),
                     .command = words(member(settings, "Cmd")),
                     .user = string_or(settings, "User"),
                     .working_directory = string_or(settings, "WorkingDir"),
                     .diff_ids = parse_diff_ids(member(member(*json, "rootfs"), "diff_ids"))};
  const Json& labels = member(settings, "Labels");
  if (labels.is_object()) {
    for (const auto& [key, value] : labels.items()) {
      if (value.is_string()) config.labels.emplace(key, value.get<std::string>());
    }
  }
  return config;
}

Digest chain_id(std::span<const Digest> diff_ids) {
  if (diff_ids.empty()) throw Error{"bug", "the ChainID of no layers was asked for"};
  Digest chain = diff_ids.front();
  for (const Digest& layer : diff_ids.subspan(1)) {
    chain = Digest::sha256_of(chain.to_string() + " " + layer.to_string());
  }
  return chain;
}

}  // namespace sparkrun::oci
