// SPDX-License-Identifier: MIT
#include "engine/client.hpp"

#include "base/error.hpp"
#include "base/json_value.hpp"
#include "base/text.hpp"
#include "engine/trouble.hpp"
#include "oci/reference.hpp"

#include <fmt/format.h>

#include <signal.h>

namespace sparkrun::engine {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds answer_timeout{60'000};
// A pull moves 10 GB over whatever line there is; Ctrl-C is the limit that people have.
constexpr milliseconds pull_timeout{24 * 3600 * 1000};

// Some jobs run for months.
constexpr milliseconds wait_timeout{std::chrono::hours{24 * 24}};

// Whether a container was given NVIDIA devices: by --gpus, by the runtime, by CDI or by hand.
bool has_gpu(const Json& json) {
  const Json& host = member(json, "HostConfig");
  if (string_or(host, "Runtime") == "nvidia") return true;
  for (const Json& request : member(host, "DeviceRequests")) {
    const std::string text = to_json_line(request);
    if (text.find("gpu") != std::string::npos || text.find("nvidia") != std::string::npos)
      return true;
  }
  for (const Json& device : member(host, "Devices")) {
    if (string_or(device, "PathOnHost").find("nvidia") != std::string::npos) return true;
  }
  // podman tells of CDI devices only here.
  for (const Json& word : member(member(json, "Config"), "CreateCommand")) {
    if (word.is_string() && word.get<std::string>().find("nvidia.com/gpu") != std::string::npos)
      return true;
  }
  return false;
}

ContainerState container_state(const Json& json) {
  const Json& state = member(json, "State");
  ContainerState container{.id = string_or(json, "Id"),
                           .image = image_id(string_or(json, "Image")),
                           .is_running = boolean_or(state, "Running", false),
                           .exit = static_cast<int>(integer_or(state, "ExitCode", 0)),
                           .is_oom_killed = boolean_or(state, "OOMKilled", false),
                           .name = string_or(json, "Name"),
                           .status = string_or(state, "Status"),
                           .started = string_or(state, "StartedAt"),
                           .finished = string_or(state, "FinishedAt"),
                           .restarts = integer_or(json, "RestartCount", 0),
                           .pid = static_cast<pid_t>(integer_or(state, "Pid", 0)),
                           .has_gpu = has_gpu(json)};
  if (container.name.starts_with('/')) container.name.erase(0, 1);  // docker's inner form
  for (const auto& [name, value] : member(member(json, "Config"), "Labels").items()) {
    if (value.is_string()) container.labels[name] = value.get<std::string>();
  }
  return container;
}

// docker: `No such image`; podman: `image not known`, `no such container`. Not `no such file`,
// which is what a client says whose engine's socket is gone.
bool says_absent(std::string_view words) {
  const std::string lower = to_lower(words);
  for (const std::string_view absent :
       {"no such container", "no such image", "no such object", "not known"}) {
    if (lower.find(absent) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

std::string image_id(std::string_view text) {
  return text.empty() || text.find(':') != std::string_view::npos ? std::string{text}
                                                                  : fmt::format("sha256:{}", text);
}

StoredImage stored_image(const Json& image) {
  return {.id = image_id(string_or(image, "Id")),
          .tags = strings_of(member(image, "RepoTags")),
          .repo_digests = strings_of(member(image, "RepoDigests")),
          .bytes = integer_or(image, "Size", 0)};
}

std::vector<std::string> strings_of(const Json& array) {
  std::vector<std::string> result;
  if (!array.is_array()) return result;
  for (const Json& item : array) {
    if (item.is_string()) result.push_back(item.get<std::string>());
  }
  return result;
}

std::string oci_architecture(std::string_view machine) {
  if (machine == "x86_64") return "amd64";
  if (machine == "aarch64") return "arm64";
  return std::string{machine};
}

Client::Client(std::string name, std::vector<std::string> command, sys::System& system)
    : name_(std::move(name)), command_(std::move(command)), system_(system) {}

const EngineFacts& Client::facts() {
  if (!facts_) facts_ = read_facts();
  return *facts_;
}

std::optional<LocalImage> Client::find_image(const std::string& reference) {
  const auto json = describe_image(reference);
  if (!json) return std::nullopt;
  const Json& config = member(*json, "Config");
  return LocalImage{.id = image_id(string_or(*json, "Id")),
                    .repo_digests = strings_of(member(*json, "RepoDigests")),
                    .os = string_or(*json, "Os"),
                    .architecture = string_or(*json, "Architecture"),
                    .entrypoint = strings_of(member(config, "Entrypoint")),
                    .command = strings_of(member(config, "Cmd"))};
}

std::optional<ContainerState> Client::find_container(const std::string& name_or_id) {
  const auto json = describe_container(name_or_id);
  if (!json) return std::nullopt;
  return container_state(*json);
}

std::vector<ContainerState> Client::list_containers(const std::string& label) {
  std::vector<std::string> words = {"ps", "--all", "--quiet", "--no-trunc"};
  if (!label.empty()) words.insert(words.end(), {"--filter", "label=" + label});
  const std::string ids = call_or_fail(std::move(words), "list", "containers");
  std::vector<ContainerState> containers;
  for (const std::string_view line : split(ids, '\n')) {
    if (trim(line).empty()) continue;
    if (auto state = find_container(std::string{trim(line)})) {
      containers.push_back(std::move(*state));  // else it has gone meanwhile
    }
  }
  return containers;
}

std::string Client::start_detached(
    const std::vector<std::string>& argv,
    const std::vector<std::pair<std::string, std::string>>& variables) {
  const sys::ProcessResult result =
      run({.argv = argv, .environment = variables, .timeout = pull_timeout});
  if (!result.is_success()) throw failure("start", "the container", result.err);
  return std::string{trim(result.out)};
}

bool Client::wait(const std::string& name_or_id, std::optional<milliseconds> timeout) {
  std::vector<std::string> argv = command_;
  argv.insert(argv.end(), {"wait", name_or_id});
  const sys::ProcessResult result = run({.argv = argv, .timeout = timeout.value_or(wait_timeout)});
  if (result.timed_out) return false;
  if (!result.is_success() && !says_absent(result.err)) {
    throw failure("wait for", name_or_id, result.err);
  }
  return true;
}

std::string Client::last_output(const std::string& name_or_id) {
  constexpr std::string_view lines_max = "10000";
  constexpr size_t bytes_max = size_t{8} << 20;
  std::vector<std::string> argv = command_;
  argv.insert(argv.end(), {"logs", "--tail", std::string{lines_max}, name_or_id});
  std::string output;
  const sys::ProcessResult result = run({.argv = argv,
                                         .timeout = answer_timeout,
                                         .on_output =
                                             [&](std::string_view piece) {
                                               output += piece;
                                               if (output.size() > 2 * bytes_max)
                                                 output.erase(0, output.size() - bytes_max);
                                               return true;
                                             },
                                         .is_interruptible = false});
  if (!result.is_success()) {  // what came are the engine's words, not the job's
    const bool has_nothing =
        says_absent(output) || output.find("not support reading") != std::string::npos;
    if (has_nothing && !result.timed_out) return {};
    throw failure("read the output of", name_or_id, output);
  }
  if (output.size() > bytes_max) output.erase(0, output.size() - bytes_max);
  return output;
}

void Client::follow_output(const std::string& name_or_id, milliseconds timeout,
                           const std::function<bool(std::string_view)>& take) {
  std::vector<std::string> argv = command_;
  argv.insert(argv.end(), {"logs", "--follow", name_or_id});
  run({.argv = argv, .timeout = timeout, .on_output = take});
}

std::string Client::full_description(const std::string& name_or_id) {
  const auto json = describe_container(name_or_id);
  return json ? to_json_text(*json) : "";
}

std::optional<Json> Client::describe_image(const std::string& reference) {
  return inspect("image", reference, OnSignal::interrupt);
}

std::optional<Json> Client::describe_container(const std::string& name_or_id) {
  return inspect("container", name_or_id, OnSignal::stay);
}

std::optional<Json> Client::inspect(std::string_view kind, const std::string& what,
                                    OnSignal on_signal) {
  const sys::ProcessResult result = call({std::string{kind}, "inspect", what}, on_signal);
  if (!result.is_success() && says_absent(result.err)) return std::nullopt;
  const auto json = parse_json(result.out);
  if (!result.is_success() || !json || !json->is_array() || json->size() != 1) {
    throw failure("inspect", what, result.err);
  }
  return json->front();
}

void Client::pull(const std::string& reference, const std::string& platform, bool show_progress) {
  std::vector<std::string> argv = command_;
  argv.emplace_back("pull");
  if (!show_progress) argv.emplace_back("--quiet");
  if (!platform.empty()) argv.insert(argv.end(), {"--platform", platform});
  argv.push_back(reference);
  if (show_progress) {
    if (pull_visibly(argv, reference) == 0) return;
    // Its words went to the terminal; asked once more it says why, or it succeeds.
    argv.insert(argv.begin() + static_cast<long>(command_.size()) + 1, "--quiet");
  }
  const sys::ProcessResult result = run_captured(argv, "", pull_timeout);
  if (!result.is_success()) throw pull_failure(reference, result.err);
}

// A reference that sparkrun made is well formed; what is not, comes from another caller's hand.
Error Client::pull_failure(const std::string& reference, std::string_view words) const {
  return refusal(fmt::format("{} could not pull {}", name_, reference), words,
                 oci::Reference::parse(reference).registry());
}

// The client draws its bars only on a terminal, so it gets ours; stdout stays free for the result.
int Client::pull_visibly(const std::vector<std::string>& argv, const std::string& reference) {
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
    return event.exit;
  }
}

void Client::tag(const std::string& reference, const std::string& name) {
  call_or_fail({"tag", reference, name}, "tag", reference);
}

bool Client::has_container_of(const std::string& image_id) {
  return !trim(call_or_fail({"ps", "--all", "--quiet", "--filter", "ancestor=" + image_id}, "list",
                            "containers"))
              .empty();
}

void Client::remove_image(const std::string& reference) {
  const sys::ProcessResult result = call({"image", "rm", reference});
  if (!result.is_success() && !says_absent(result.err)) {
    throw failure("remove", reference, result.err);
  }
}

void Client::load(const std::vector<std::string>& producer) {
  std::vector<std::string> argv = command_;
  argv.insert(argv.end(), {"load", "--quiet"});
  const std::vector<sys::ProcessResult> results =
      system_.processes.run_pipeline({.commands = {producer, argv}, .timeout = pull_timeout});
  const sys::ProcessResult* const culprit = sys::first_failure(results);
  if (culprit == nullptr) return;
  const bool is_engine = culprit == &results.back() && results.size() == 2;
  if (culprit->spawn_errno == 0) {
    throw failure("load", "the images",
                  is_engine ? culprit->err : producer.at(0) + ": " + culprit->err);
  }
  throw Error{is_engine ? "engine.missing" : "archive.tar_failed",
              fmt::format("`{}` is not on PATH", is_engine ? command_.at(0) : producer.at(0))};
}

sys::ProcessResult Client::run_captured(const std::vector<std::string>& argv,
                                        const std::string& input, milliseconds timeout) {
  return run({.argv = argv, .input = input, .timeout = timeout});
}

sys::ProcessResult Client::run(const sys::ProcessSpec& spec) {
  sys::ProcessResult result = system_.processes.run(spec);
  if (result.spawn_errno != 0) {
    throw Error{"engine.missing", fmt::format("`{}` is not on PATH", spec.argv.at(0))};
  }
  return result;
}

std::unique_ptr<sys::ForegroundProcess> Client::start(
    const std::vector<std::string>& argv,
    const std::vector<std::pair<std::string, std::string>>& variables) {
  return system_.processes.start({.argv = argv, .environment = variables, .is_in_our_place = true});
}

void Client::stop(const std::string& name_or_id, seconds grace) {
  const sys::ProcessResult result =
      call({"stop", "--time", std::to_string(grace.count()), name_or_id}, OnSignal::stay, grace);
  if (!result.is_success() && !says_absent(result.err)) {
    throw failure("stop", name_or_id, result.err);
  }
}

void Client::remove(const std::string& name_or_id) {
  const sys::ProcessResult result = call({"rm", "--force", name_or_id}, OnSignal::stay);
  if (!result.is_success() && !says_absent(result.err)) {
    throw failure("remove", name_or_id, result.err);
  }
}

sys::ProcessResult Client::call(std::vector<std::string> words, OnSignal on_signal,
                                milliseconds extra) {
  std::vector<std::string> argv = command_;
  argv.insert(argv.end(), words.begin(), words.end());
  sys::ProcessResult result = run({.argv = argv,
                                   .timeout = answer_timeout + extra,
                                   .is_interruptible = on_signal == OnSignal::interrupt});
  if (result.timed_out) {
    throw Error{"engine.unreachable", fmt::format("`{}` gave no answer within {} s",
                                                  shell_join(argv), answer_timeout.count() / 1000)};
  }
  return result;
}

std::string Client::call_or_fail(std::vector<std::string> words, std::string_view verb,
                                 const std::string& object, OnSignal on_signal) {
  sys::ProcessResult result = call(std::move(words), on_signal);
  if (!result.is_success()) throw failure(verb, object, result.err);
  return std::move(result.out);
}

Error Client::failure(std::string_view verb, const std::string& object,
                      std::string_view words) const {
  return refusal(fmt::format("{} could not {} {}", name_, verb, object), words);
}

}  // namespace sparkrun::engine
