// SPDX-License-Identifier: MIT
#include "engine/docker.hpp"

#include "base/digest.hpp"
#include "base/error.hpp"
#include "base/json_value.hpp"
#include "base/secret.hpp"
#include "base/text.hpp"
#include "base/toml.hpp"
#include "oci/credentials.hpp"
#include "sys/files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <signal.h>

namespace sparkrun::engine {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds answer_timeout{15'000};
// A pull moves 10 GB over whatever line there is; Ctrl-C is the limit that people have.
constexpr milliseconds pull_timeout{24 * 3600 * 1000};
constexpr std::string_view toolkit_config = "/etc/nvidia-container-runtime/config.toml";

std::vector<std::string> strings_of(const Json& array) {
  std::vector<std::string> result;
  if (!array.is_array()) return result;
  for (const Json& item : array) {
    if (item.is_string()) result.push_back(item.get<std::string>());
  }
  return result;
}

// `x86_64` in /info, `amd64` everywhere else.
std::string oci_architecture(std::string_view name) {
  if (name == "x86_64") return "amd64";
  if (name == "aarch64") return "arm64";
  return std::string{name};
}

std::string toolkit_mode() {
  try {
    const auto parsed = parse_toml(sys::read_file(toolkit_config).value_or(""));
    if (const auto* root = std::get_if<TomlNode>(&parsed)) {
      const TomlNode* const section = root->find("nvidia-container-runtime");
      const TomlNode* const mode = section != nullptr ? section->find("mode") : nullptr;
      if (mode != nullptr) return mode->string;
    }
  } catch (const Error&) {
    // Unreadable is unknown: the toolkit's own default applies.
  }
  return {};
}

// CDI specifications name what they are for: `kind: nvidia.com/gpu` (CDI SPEC.md).
bool names_nvidia_gpu(const sys::fs::path& folder) {
  try {
    for (const std::string& name : sys::list_files(folder)) {
      const std::string text = sys::read_file(folder / name).value_or("");
      if (text.find("nvidia.com/gpu") != std::string::npos) return true;
    }
  } catch (const Error&) {
    // What cannot be read here is not known to be there.
  }
  return false;
}

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

class Docker final : public Engine {
 public:
  explicit Docker(sys::System& system) : system_(system) {}

  const EngineFacts& facts() override {
    if (!facts_) facts_ = read_facts();
    return *facts_;
  }

  std::optional<LocalImage> find_image(const std::string& reference) override {
    const auto json = get("/images/" + reference + "/json");
    if (!json) return std::nullopt;
    const Json& config = member(*json, "Config");
    return LocalImage{.id = string_or(*json, "Id"),
                      .repo_digests = strings_of(member(*json, "RepoDigests")),
                      .os = string_or(*json, "Os"),
                      .architecture = string_or(*json, "Architecture"),
                      .entrypoint = strings_of(member(config, "Entrypoint")),
                      .command = strings_of(member(config, "Cmd"))};
  }

  void pull(const std::string& reference, const std::string& platform,
            bool show_progress) override {
    std::vector<std::string> argv = {"docker", "pull"};
    if (!show_progress) argv.emplace_back("--quiet");
    if (!platform.empty()) argv.insert(argv.end(), {"--platform", platform});
    argv.push_back(reference);
    if (show_progress) return pull_visibly(argv, reference);
    const sys::ProcessResult result = run_client(argv, "", pull_timeout);
    if (!result.is_success()) throw refused("pull", reference, result.err);
  }

  void load(const std::vector<std::string>& producer) override {
    const std::vector<sys::ProcessResult> results = system_.processes.run_pipeline(
        {.commands = {producer, {"docker", "load", "--quiet"}}, .timeout = pull_timeout});
    const sys::ProcessResult* const failure = sys::first_failure(results);
    if (failure == nullptr) return;
    const bool is_docker = failure == &results.back() && results.size() == 2;
    if (failure->spawn_errno == 0) {
      throw refused("load", "the images",
                    is_docker ? failure->err : producer.at(0) + ": " + failure->err);
    }
    throw Error{is_docker ? "engine.missing" : "archive.tar_failed",
                fmt::format("`{}` is not on PATH", is_docker ? "docker" : producer.at(0))};
  }

  sys::ProcessResult run_captured(const std::vector<std::string>& argv, const std::string& input,
                                  milliseconds timeout) override {
    return run_client(argv, input, timeout);
  }

  std::unique_ptr<sys::ForegroundProcess> start(const std::vector<std::string>& argv) override {
    return system_.processes.start({.argv = argv});
  }

  std::optional<ContainerState> find_container(const std::string& name_or_id) override {
    const auto json = get("/containers/" + name_or_id + "/json", OnSignal::stay);
    if (!json) return std::nullopt;
    const Json& state = member(*json, "State");
    return ContainerState{.id = string_or(*json, "Id"),
                          .image = string_or(*json, "Image"),
                          .is_running = boolean_or(state, "Running", false),
                          .exit = static_cast<int>(integer_or(state, "ExitCode", 0)),
                          .is_oom_killed = boolean_or(state, "OOMKilled", false)};
  }

  void stop(const std::string& name_or_id, seconds grace) override {
    tell("POST", fmt::format("/containers/{}/stop?t={}", name_or_id, grace.count()),
         milliseconds{grace} + answer_timeout);
  }

  void remove(const std::string& name_or_id) override {
    tell("DELETE", fmt::format("/containers/{}?force=1", name_or_id), answer_timeout);
  }

 private:
  EngineFacts read_facts() {
    const auto info = get("/info");
    const auto version = get("/version");
    if (!info || !version) throw refused("describe", "itself", "no answer to /info");
    EngineFacts facts;
    facts.name = "docker";
    facts.version = string_or(*version, "Version");
    facts.api_version = string_or(*version, "ApiVersion");
    facts.os = string_or(*info, "OSType", "linux");
    facts.architecture = oci_architecture(string_or(*info, "Architecture"));
    for (const auto& [name, unused] : member(*info, "Runtimes").items())
      facts.runtimes.push_back(name);
    facts.default_runtime = string_or(*info, "DefaultRuntime");
    facts.root_directory = string_or(*info, "DockerRootDir");
    const std::string status = to_json_line(member(*info, "DriverStatus"));
    facts.image_store =
        status.find("io.containerd.snapshotter") != std::string::npos ? "containerd" : "classic";
    for (const std::string& option : strings_of(member(*info, "SecurityOptions"))) {
      facts.is_rootless |= option.find("name=rootless") != std::string::npos;
    }
    facts.toolkit_mode = toolkit_mode();
    for (const std::string& folder : strings_of(member(*info, "CDISpecDirs"))) {
      facts.has_nvidia_cdi |= names_nvidia_gpu(folder);
    }
    return facts;
  }

  // What a signal does while the engine is asked. Beside a running job, and when cleaning up after
  // one, it stays for whoever waits for the job.
  enum class OnSignal { interrupt, stay };

  sys::HttpResponse ask(std::string_view method, const std::string& path, milliseconds timeout,
                        OnSignal on_signal) {
    const sys::fs::path socket = docker_socket(system_.environment);
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
        system_.http.send({.method = std::string{method},
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

  // Nothing for 404; throws for every other answer than 200.
  std::optional<Json> get(const std::string& path, OnSignal on_signal = OnSignal::interrupt) {
    const sys::HttpResponse response = ask("GET", path, answer_timeout, on_signal);
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

  sys::ProcessResult run_client(const std::vector<std::string>& argv, const std::string& input,
                                milliseconds timeout) {
    sys::ProcessResult result =
        system_.processes.run({.argv = argv, .input = input, .timeout = timeout});
    if (result.spawn_errno != 0) {
      throw Error{"engine.missing", fmt::format("`{}` is not on PATH", argv.at(0))};
    }
    return result;
  }

  // The client draws its bars only on a terminal, so it gets ours; stdout stays free for the
  // result.
  void pull_visibly(const std::vector<std::string>& argv, const std::string& reference) {
    const auto client = system_.processes.start({.argv = argv, .out_to_err = true});
    while (true) {
      const sys::ProcessEvent event = client->wait(std::nullopt);
      if (event.kind == sys::ProcessEvent::Kind::signal) {
        client->send(event.signal.number);
        if (client->wait(seconds{2}).kind != sys::ProcessEvent::Kind::exited) {
          client->send(SIGKILL);
          client->wait(std::nullopt);
        }
        throw Error{"interrupted", "interrupted while pulling " + reference};
      }
      if (event.kind != sys::ProcessEvent::Kind::exited) continue;
      if (event.exit != 0) throw refused("pull", reference, "see above");
      return;
    }
  }

  static Error refused(std::string_view verb, const std::string& what, std::string_view words) {
    return Error{"engine.failed", fmt::format("docker could not {} {}: {}", verb, what,
                                              printable(trim(words).substr(0, 2000)))};
  }

  sys::System& system_;
  std::optional<EngineFacts> facts_;
};

}  // namespace

sys::fs::path docker_socket(const sys::Environment& environment) {
  const std::string host = docker_host(environment);
  if (!host.starts_with("unix://")) {
    throw Error{"engine.unsupported", fmt::format("docker at `{}` is not on a local unix socket",
                                                  printable(redact(host)))};
  }
  return host.substr(std::string_view{"unix://"}.size());
}

std::unique_ptr<Engine> open_docker(sys::System& system) {
  return std::make_unique<Docker>(system);
}

}  // namespace sparkrun::engine
