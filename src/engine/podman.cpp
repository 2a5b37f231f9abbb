// SPDX-License-Identifier: MIT
#include "engine/podman.hpp"

#include "base/json_value.hpp"
#include "engine/toolkit.hpp"

#include <algorithm>

namespace sparkrun::engine {
namespace {

class Podman final : public Client {
 public:
  Podman(std::vector<std::string> command, sys::System& system)
      : Client("podman", std::move(command), system) {}

  std::vector<StoredImage> list_images(const std::string& pattern) override {
    const auto json = parse_json(call_or_fail(
        {"image", "ls", "--format", "json", "--filter", "reference=" + pattern}, "list", "images"));
    std::vector<StoredImage> images;
    if (!json || !json->is_array()) throw failure("list", "images", "no JSON came back");
    for (const Json& image : *json) {  // one entry for each of its names
      const std::string id = image_id(string_or(image, "Id"));
      if (std::ranges::find(images, id, &StoredImage::id) != images.end()) continue;
      images.push_back({.id = image_id(string_or(image, "Id")),
                        .tags = strings_of(member(image, "Names")),
                        .repo_digests = strings_of(member(image, "RepoDigests")),
                        .bytes = integer_or(image, "Size", 0)});
    }
    return images;
  }

 private:
  EngineFacts read_facts() override {
    const auto info = parse_json(call_or_fail({"info", "--format", "json"}, "describe", "itself"));
    if (!info) throw failure("describe", "itself", "`podman info` gave no JSON");
    const Json& host = member(*info, "host");
    const std::string runtime = string_or(member(host, "ociRuntime"), "name");
    return {.name = "podman",
            .version = string_or(member(*info, "version"), "Version"),
            .os = string_or(host, "os", "linux"),
            .architecture = oci_architecture(string_or(host, "arch")),
            .runtimes = {runtime},
            .default_runtime = runtime,
            .image_store = "classic",  // an image's id is the digest of its config
            .root_directory = string_or(member(*info, "store"), "graphRoot"),
            .toolkit_mode = toolkit_mode(),
            .has_toolkit = has_toolkit(system().environment),
            .has_nvidia_cdi = has_nvidia_specification({"/etc/cdi", "/var/run/cdi"}),
            .is_rootless = boolean_or(member(host, "security"), "rootless", false),
            .is_remote = boolean_or(host, "serviceIsRemote", false)};
  }
};

}  // namespace

std::unique_ptr<Engine> open_podman(std::vector<std::string> command, sys::System& system) {
  return std::make_unique<Podman>(std::move(command), system);
}

}  // namespace sparkrun::engine
