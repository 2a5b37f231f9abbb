// SPDX-License-Identifier: MIT
#pragma once

#include "base/error.hpp"
#include "base/json.hpp"
#include "engine/engine.hpp"

namespace sparkrun::engine {

// What engines with a command line in docker's manner have in common: each question and each act is
// one call of the client program.
class Client : public Engine {
 public:
  const EngineFacts& facts() final;
  [[nodiscard]] const std::string& name() const final { return name_; }
  [[nodiscard]] const std::vector<std::string>& command() const final { return command_; }

  std::optional<LocalImage> find_image(const std::string& reference) final;
  void pull(const std::string& reference, const std::string& platform, bool show_progress) final;
  void tag(const std::string& reference, const std::string& name) final;
  bool has_container_of(const std::string& image_id) final;
  void remove_image(const std::string& reference) final;
  void load(const std::vector<std::string>& producer) final;
  sys::ProcessResult run_captured(const std::vector<std::string>& argv, const std::string& input,
                                  std::chrono::milliseconds timeout) final;
  std::unique_ptr<sys::ForegroundProcess> start(
      const std::vector<std::string>& argv,
      const std::vector<std::pair<std::string, std::string>>& variables) final;
  std::string start_detached(
      const std::vector<std::string>& argv,
      const std::vector<std::pair<std::string, std::string>>& variables) final;
  std::optional<ContainerState> find_container(const std::string& name_or_id) final;
  std::vector<ContainerState> list_containers(const std::string& label) final;
  bool wait(const std::string& name_or_id, std::optional<std::chrono::milliseconds> timeout) final;
  void follow_output(const std::string& name_or_id, std::chrono::milliseconds timeout,
                     const std::function<bool(std::string_view)>& take) final;
  std::string last_output(const std::string& name_or_id) final;
  std::string full_description(const std::string& name_or_id) final;
  void stop(const std::string& name_or_id, std::chrono::seconds grace) override;
  void remove(const std::string& name_or_id) override;

 protected:
  // What a signal does while the engine is asked. Beside a running job, and when cleaning up after
  // one, it stays for whoever waits for the job.
  enum class OnSignal { interrupt, stay };

  Client(std::string name, std::vector<std::string> command, sys::System& system);

  virtual EngineFacts read_facts() = 0;
  // The engine's own description, in the form of docker's API; nothing when there is no such thing.
  virtual std::optional<Json> describe_image(const std::string& reference);
  virtual std::optional<Json> describe_container(const std::string& name_or_id);

  // Runs the client to its end; `words` follow the command. Throws `engine.missing`.
  // It may take `extra` longer than an answer usually does.
  sys::ProcessResult call(std::vector<std::string> words, OnSignal on_signal = OnSignal::interrupt,
                          std::chrono::milliseconds extra = {});
  // The same, for what has to succeed; `verb` and `object` say in an error what failed.
  std::string call_or_fail(std::vector<std::string> words, std::string_view verb,
                           const std::string& object, OnSignal on_signal = OnSignal::interrupt);
  // What one call of `inspect` says of the one thing that it was asked for.
  std::optional<Json> inspect(std::string_view kind, const std::string& what, OnSignal on_signal);
  // In the engine's words, with their meaning where that is known.
  [[nodiscard]] Error failure(std::string_view verb, const std::string& object,
                              std::string_view words) const;

  [[nodiscard]] sys::System& system() const { return system_; }

 private:
  // Throws `engine.missing` where the program is not there.
  sys::ProcessResult run(const sys::ProcessSpec& spec);
  int pull_visibly(const std::vector<std::string>& argv, const std::string& reference);
  [[nodiscard]] Error pull_failure(const std::string& reference, std::string_view words) const;

  std::string name_;
  std::vector<std::string> command_;
  sys::System& system_;
  std::optional<EngineFacts> facts_;
};

// What `inspect` says of an image in the store.
StoredImage stored_image(const Json& image);

// `sha256:` before an id that lacks it, as podman's do.
std::string image_id(std::string_view text);

// Strings of a JSON array; what is not a string is left out.
std::vector<std::string> strings_of(const Json& array);

// `x86_64` and `aarch64` as an OCI platform names them.
std::string oci_architecture(std::string_view machine);

}  // namespace sparkrun::engine
