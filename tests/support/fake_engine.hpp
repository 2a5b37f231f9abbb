// SPDX-License-Identifier: MIT
#pragma once

#include "base/error.hpp"
#include "engine/engine.hpp"
#include "support/fake_processes.hpp"

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sparkrun::test {

// An engine made of maps. Every call is recorded in `calls` as `VERB ARGUMENTS`.
class FakeEngine final : public engine::Engine {
 public:
  engine::EngineFacts known = {.name = "docker",
                               .version = "28.1.1",
                               .api_version = "1.49",
                               .os = "linux",
                               .architecture = "arm64",
                               .runtimes = {"nvidia", "runc"},
                               .default_runtime = "runc",
                               .image_store = "classic",
                               .root_directory = "/var/lib/docker"};
  std::map<std::string, engine::LocalImage> images;  // by every reference or id that finds them
  std::map<std::string, engine::LocalImage> remote;  // become `images` when they are pulled
  std::map<std::string, engine::ContainerState> containers;
  sys::ProcessResult captured;         // of run_captured
  ForegroundScript* script = nullptr;  // of start
  // Thrown by the call of that verb (`facts`, `pull`, `stop`, ..).
  std::map<std::string, Error> failures;

  std::function<void(const std::vector<std::string>& producer)> on_load;
  std::vector<std::vector<std::string>> loads;

  std::vector<std::string> words = {"docker"};  // command()
  std::string detached_id = std::string(64, 'd');
  std::function<void()> on_start_detached;
  std::function<void()> on_description;
  std::function<bool(std::optional<std::chrono::milliseconds>)> on_wait;
  std::vector<std::string> pieces;                                   // of follow_output
  std::string output;                                                // of last_output
  std::vector<engine::StoredImage> tagged;                           // of list_images
  std::vector<std::pair<std::string, std::string>> given_variables;  // of the last start

  std::vector<std::string> calls;
  std::vector<std::vector<std::string>> started;
  std::vector<std::pair<std::vector<std::string>, std::string>> captured_runs;  // argv, input

  [[nodiscard]] const std::string& name() const override { return known.name; }
  [[nodiscard]] const std::vector<std::string>& command() const override { return words; }
  const engine::EngineFacts& facts() override {
    note("facts", "");
    return known;
  }
  void tag(const std::string& reference, const std::string& name) override {
    note("tag", reference + " " + name);
  }
  std::vector<engine::StoredImage> list_images(const std::string& pattern) override {
    note("list_images", pattern);
    return tagged;
  }
  void remove_image(const std::string& reference) override { note("remove_image", reference); }
  bool has_container_of(const std::string& image_id) override {
    note("has_container_of", image_id);
    return false;
  }
  std::optional<engine::LocalImage> find_image(const std::string& reference) override {
    note("find_image", reference);
    return find(images, reference);
  }
  void pull(const std::string& reference, const std::string& platform,
            bool show_progress) override {
    note("pull", reference + " " + platform + (show_progress ? " visibly" : " quietly"));
    if (const auto image = find(remote, reference)) images[reference] = *image;
  }
  void load(const std::vector<std::string>& producer) override {
    note("load", "");
    loads.push_back(producer);
    if (on_load) on_load(producer);
  }
  sys::ProcessResult run_captured(const std::vector<std::string>& argv, const std::string& input,
                                  std::chrono::milliseconds) override {
    note("run_captured", "");
    captured_runs.emplace_back(argv, input);
    return captured;
  }
  std::unique_ptr<sys::ForegroundProcess> start(
      const std::vector<std::string>& argv,
      const std::vector<std::pair<std::string, std::string>>& variables) override {
    note("start", "");
    started.push_back(argv);
    given_variables = variables;
    if (script == nullptr) throw Error{"bug", "the test gave the engine no script"};
    return std::make_unique<FakeForegroundProcess>(*script);
  }
  std::string start_detached(
      const std::vector<std::string>& argv,
      const std::vector<std::pair<std::string, std::string>>& variables) override {
    if (on_start_detached) on_start_detached();
    note("start_detached", "");
    started.push_back(argv);
    given_variables = variables;
    return detached_id;
  }
  std::vector<engine::ContainerState> list_containers(const std::string& label) override {
    note("list_containers", label);
    std::vector<engine::ContainerState> all;
    for (const auto& [name, state] : containers) {
      if (label.empty() || state.labels.contains(label)) all.push_back(state);
    }
    return all;
  }
  bool wait(const std::string& name_or_id,
            std::optional<std::chrono::milliseconds> timeout) override {
    note("wait", name_or_id);
    return on_wait ? on_wait(timeout) : true;
  }
  void follow_output(const std::string& name_or_id, std::chrono::milliseconds,
                     const std::function<bool(std::string_view)>& take) override {
    note("follow_output", name_or_id);
    for (const std::string& piece : pieces) {
      if (!take(piece)) return;
    }
  }
  std::string last_output(const std::string& name_or_id) override {
    note("last_output", name_or_id);
    return output;
  }
  std::string full_description(const std::string& name_or_id) override {
    note("full_description", name_or_id);
    if (on_description) on_description();
    return "{}\n";
  }
  std::optional<engine::ContainerState> find_container(const std::string& name_or_id) override {
    note("find_container", name_or_id);
    return find(containers, name_or_id);
  }
  void stop(const std::string& name_or_id, std::chrono::seconds grace) override {
    note("stop", name_or_id + " " + std::to_string(grace.count()));
  }
  void remove(const std::string& name_or_id) override { note("remove", name_or_id); }

 private:
  void note(const std::string& verb, const std::string& rest) {
    calls.push_back(rest.empty() ? verb : verb + " " + rest);
    const auto failure = failures.find(verb);
    if (failure != failures.end()) throw failure->second;
  }
  template <typename Value>
  static std::optional<Value> find(const std::map<std::string, Value>& values,
                                   const std::string& key) {
    const auto found = values.find(key);
    return found == values.end() ? std::nullopt : std::optional{found->second};
  }
};

}  // namespace sparkrun::test
