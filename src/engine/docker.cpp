// SPDX-License-Identifier: MIT
#include "engine/docker.hpp"

#include "base/digest.hpp"
#include "base/error.hpp"
#include "base/json_value.hpp"
#include "base/secret.hpp"
#include "base/text.hpp"
#include "engine/toolkit.hpp"
#include "oci/credentials.hpp"
#include "sys/files.hpp"

#include <fmt/format.h>

#include <set>

namespace sparkrun::engine {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds answer_timeout{15'000};
constexpr std::string_view unix_scheme = "unix://";

// The host of a docker context, from the client's own store (docker/cli, cli/context/store).
std::string context_host(const sys::fs::path& config_folder, std::string_view context) {
  const sys::fs::path meta =
      config_folder / "contexts" / "meta" / sha256_hex(context) / "meta.json";
  const auto json = parse_json(sys::read_file(meta).value_or(""));
  if (!json) {
    throw Error{"engine.unreachable", fmt::format("the docker context `{}` is not defined in {}",
                                                  context, config_folder.string())};
  }
  return string_or(member(member(*json, "Endpoints"), "docker"), "Host");
}

// What docker says of itself (`/info`), as facts; what only this host can tell is left out.
EngineFacts facts_of(const Json& info) {
  EngineFacts facts{.name = "docker",
                    .version = string_or(info, "ServerVersion"),
                    .os = string_or(info, "OSType", "linux"),
                    .architecture = oci_architecture(string_or(info, "Architecture")),
                    .default_runtime = string_or(info, "DefaultRuntime"),
                    .root_directory = string_or(info, "DockerRootDir")};
  for (const auto& [name, unused] : member(info, "Runtimes").items())
    facts.runtimes.push_back(name);
  const std::string status = to_json_line(member(info, "DriverStatus"));
  const bool is_containerd = status.find("io.containerd.snapshotter") != std::string::npos;
  facts.image_store = is_containerd ? "containerd" : "classic";
  for (const std::string& option : strings_of(member(info, "SecurityOptions"))) {
    facts.is_rootless |= option.find("name=rootless") != std::string::npos;
  }
  return facts;
}

class Docker final : public Client {
 public:
  Docker(std::vector<std::string> command, sys::System& system)
      : Client("docker", std::move(command), system) {}

  std::vector<StoredImage> list_images(const std::string& pattern) override {
    const std::string lines =
        call_or_fail({"image", "ls", "--quiet", "--no-trunc", "--filter", "reference=" + pattern},
                     "list", "images");
    std::vector<StoredImage> images;
    std::set<std::string_view> seen;
    for (const std::string_view line : split(lines, '\n')) {
      const std::string_view id = trim(line);
      if (id.empty() || !seen.insert(id).second) continue;
      const auto json = describe_image(std::string{id});
      if (json) images.push_back(stored_image(*json));
    }
    return images;
  }

  void stop(const std::string& name_or_id, seconds grace) override {
    if (!has_socket()) return Client::stop(name_or_id, grace);
    tell("POST", fmt::format("/containers/{}/stop?t={}", name_or_id, grace.count()),
         milliseconds{grace} + answer_timeout);
  }

  void remove(const std::string& name_or_id) override {
    if (!has_socket()) return Client::remove(name_or_id);
    tell("DELETE", fmt::format("/containers/{}?force=1", name_or_id), answer_timeout);
  }

 private:
  EngineFacts read_facts() override {
    std::string api_version;
    const Json info = describe_engine(api_version);
    EngineFacts facts = facts_of(info);
    facts.api_version = api_version;
    // With a command of one's own nobody knows what it makes of DOCKER_HOST; it is taken for a way
    // to the engine of this host.
    facts.is_remote = is_plain() && !host().starts_with(unix_scheme);
    if (facts.is_remote) {
      facts.address = printable(redact(host()));
      return facts;
    }
    facts.toolkit_mode = toolkit_mode();
    facts.has_toolkit = has_toolkit(system().environment);
    facts.has_nvidia_cdi = has_nvidia_specification(strings_of(member(info, "CDISpecDirs")));
    return facts;
  }

  // The version of the API is in a header of every answer (Engine API, "Versioning").
  Json describe_engine(std::string& api_version) {
    std::optional<Json> info;
    if (has_socket()) {
      const sys::HttpResponse response = ask("GET", "/info", answer_timeout, OnSignal::interrupt);
      info = json_of(response, "/info");
      api_version = response.header("Api-Version").value_or("");
    } else {
      info = parse_json(call_or_fail({"info", "--format", "{{json .}}"}, "describe", "itself"));
    }
    if (!info) throw failure("describe", "itself", "no answer that can be understood");
    return *info;
  }

  std::optional<Json> describe_image(const std::string& reference) override {
    return has_socket() ? get("/images/" + reference + "/json", OnSignal::interrupt)
                        : Client::describe_image(reference);
  }

  std::optional<Json> describe_container(const std::string& name_or_id) override {
    return has_socket() ? get("/containers/" + name_or_id + "/json", OnSignal::stay)
                        : Client::describe_container(name_or_id);
  }

  const std::string& host() {
    if (host_.empty()) host_ = docker_host(system().environment);
    return host_;
  }

  // Whether questions may go to the socket: whoever has a command of his own cannot open it.
  bool has_socket() { return is_plain() && host().starts_with(unix_scheme); }
  [[nodiscard]] bool is_plain() const { return command() == std::vector<std::string>{"docker"}; }

  sys::HttpResponse ask(std::string_view method, const std::string& path, milliseconds timeout,
                        OnSignal on_signal) {
    const sys::fs::path socket = host().substr(unix_scheme.size());
    const sys::Access access = sys::access_to(socket);
    if (access == sys::Access::denied) {
      throw Error{"engine.permission",
                  fmt::format("you may not open docker's socket {}", socket.string())};
    }
    if (access == sys::Access::absent) {
      throw Error{"engine.unreachable",
                  fmt::format("there is no docker socket at {}", socket.string())};
    }
    const sys::HttpResponse response =
        system().http.send({.method = std::string{method},
                            .url = "http://docker" + path,
                            .unix_socket = socket.string(),
                            .limits = {.total_timeout = timeout},
                            .is_interruptible = on_signal == OnSignal::interrupt});
    if (response.fault != sys::HttpFault::none) {
      throw Error{"engine.unreachable", fmt::format("docker does not answer on {}: {}",
                                                    socket.string(), response.fault_text)};
    }
    return response;
  }

  std::optional<Json> get(const std::string& path, OnSignal on_signal) {
    return json_of(ask("GET", path, answer_timeout, on_signal), path);
  }

  // Nothing for 404; throws for every other answer than 200.
  static std::optional<Json> json_of(const sys::HttpResponse& response, const std::string& path) {
    if (response.status == 404) return std::nullopt;
    const auto json = parse_json(response.body);
    if (response.status != 200 || !json) throw unexpected("GET", path, response);
    return json;
  }

  // Already stopped (304), gone (404) and on its way out (409) are as good as done.
  void tell(std::string_view method, const std::string& path, milliseconds timeout) {
    const sys::HttpResponse response = ask(method, path, timeout, OnSignal::stay);
    const bool is_done = response.status < 300 || response.status == 304 ||
                         response.status == 404 || response.status == 409;
    if (!is_done) throw unexpected(method, path, response);
  }

  static Error unexpected(std::string_view method, const std::string& path,
                          const sys::HttpResponse& response) {
    return Error{"engine.failed",
                 fmt::format("docker answered {} to {} {}: {}", response.status, method, path,
                             printable(trim(response.body).substr(0, 400)))};
  }

  std::string host_;  // asked for when it is needed
};

}  // namespace

std::string docker_host(const sys::Environment& environment) {
  const std::string host = environment.get_or("DOCKER_HOST", "");
  if (!host.empty()) return host;
  const sys::fs::path folder = oci::docker_config_path(environment).parent_path();
  std::string context = environment.get_or("DOCKER_CONTEXT", "");
  if (context.empty()) {
    const auto config = parse_json(sys::read_file(folder / "config.json").value_or("{}"));
    if (config) context = string_or(*config, "currentContext");
  }
  if (context.empty() || context == "default") return "unix:///var/run/docker.sock";
  return context_host(folder, context);
}

std::unique_ptr<Engine> open_docker(std::vector<std::string> command, sys::System& system) {
  return std::make_unique<Docker>(std::move(command), system);
}

}  // namespace sparkrun::engine
