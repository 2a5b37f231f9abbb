// SPDX-License-Identifier: MIT
#pragma once

#include "sys/system.hpp"

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

namespace sparkrun::engine {

// What the engine says of itself, read once per command.
struct EngineFacts {
  std::string name;     // docker, podman
  std::string version;  // of the server
  std::string api_version;
  std::string os;            // linux
  std::string architecture;  // as in an OCI platform: arm64, amd64
  std::vector<std::string> runtimes;
  std::string default_runtime;
  std::string
      image_store;  // classic: image id = config digest; containerd: id = index or manifest digest
  std::string root_directory;   // where images are kept
  std::string toolkit_mode;     // of the NVIDIA Container Toolkit on this host: auto, legacy, cdi;
                                // empty: unknown
  bool has_toolkit = false;     // its programs are on this host
  bool has_nvidia_cdi = false;  // a CDI specification for nvidia.com/gpu is installed
  bool is_rootless = false;
  bool is_remote = false;  // host files are not the engine's files
  std::string address;     // of a remote engine, without its secrets: `ssh://spark`

  [[nodiscard]] bool has_runtime(std::string_view runtime) const;
};

// An image in the engine's store.
struct LocalImage {
  std::string id;                         // `sha256:..`; which digest it is depends on the store
  std::vector<std::string> repo_digests;  // NAME@DIGEST
  std::string os;
  std::string architecture;
  std::vector<std::string> entrypoint;
  std::vector<std::string> command;
};

// A container, running or not.
struct ContainerState {
  std::string id;     // 64 hex digits
  std::string image;  // id of the image that it was created from
  bool is_running = false;
  int exit = 0;
  bool is_oom_killed = false;
  std::string name = {};
  std::string status = {};    // created, running, restarting, exited, ..
  std::string started = {};   // RFC 3339
  std::string finished = {};  // the same; of a running one nothing that counts
  long long restarts = 0;     // by the engine
  pid_t pid = 0;              // of its first process on the engine's host; 0: it does not run
  bool has_gpu = false;       // it was given NVIDIA devices, by whichever way
  std::map<std::string, std::string> labels = {};
};

// An image in the engine's store, with all its names.
struct StoredImage {
  std::string id;
  std::vector<std::string> tags;          // NAME:TAG
  std::vector<std::string> repo_digests;  // NAME@DIGEST
  long long bytes = 0;                    // on disk; layers that are shared count with each
};

// A client of one container engine. It knows no profile, lock or plan. Everything throws
// `engine.*`, `interrupted`, and what pulls from a registry `registry.*` (trouble.hpp).
class Engine {
 public:
  virtual ~Engine() = default;

  virtual const EngineFacts& facts() = 0;
  [[nodiscard]] virtual const std::string& name() const = 0;  // docker, podman
  // The words that every command line of it begins with: `docker`, or `sudo -n docker`.
  [[nodiscard]] virtual const std::vector<std::string>& command() const = 0;
  // `reference` as the engine's own command line takes it, or an image id.
  virtual std::optional<LocalImage> find_image(const std::string& reference) = 0;
  // `NAME@DIGEST`, for one platform. The engine's progress goes to our stderr when `show_progress`.
  virtual void pull(const std::string& reference, const std::string& platform,
                    bool show_progress) = 0;
  virtual void tag(const std::string& reference, const std::string& name) = 0;
  // Those with a name that matches a pattern such as `sparkrun/*`.
  virtual std::vector<StoredImage> list_images(const std::string& pattern) = 0;
  // Whether a container, running or not, was made from an image.
  virtual bool has_container_of(const std::string& image_id) = 0;
  // Takes one name (NAME:TAG or NAME@DIGEST) away; with its last name the image goes. A name that
  // is not there is fine. Refused while a container needs the image.
  virtual void remove_image(const std::string& reference) = 0;
  // Takes the images of the tar stream that `producer` (a command line) writes.
  virtual void load(const std::vector<std::string>& producer) = 0;

  // Runs a short-lived container to its end with captured streams; `argv` is a whole command line.
  virtual sys::ProcessResult run_captured(const std::vector<std::string>& argv,
                                          const std::string& input,
                                          std::chrono::milliseconds timeout) = 0;
  // Starts a container with --detach; its id. `variables` as of start(). Throws what the engine
  // refuses.
  virtual std::string start_detached(
      const std::vector<std::string>& argv,
      const std::vector<std::pair<std::string, std::string>>& variables) = 0;
  // Starts the job in the foreground, with our streams. `variables` are added to the client's own
  // environment, where `-e NAME` finds their values.
  virtual std::unique_ptr<sys::ForegroundProcess> start(
      const std::vector<std::string>& argv,
      const std::vector<std::pair<std::string, std::string>>& variables) = 0;

  virtual std::optional<ContainerState> find_container(const std::string& name_or_id) = 0;
  // Those that have a label (empty: all), running or not.
  virtual std::vector<ContainerState> list_containers(const std::string& label) = 0;
  // Until the container does not run any more, or the time is up (false). No polling: the engine
  // tells.
  virtual bool wait(const std::string& name_or_id,
                    std::optional<std::chrono::milliseconds> timeout) = 0;
  // What a container prints, both streams, from its start on and as it comes: until it ends, the
  // time is up or `take` returns false.
  virtual void follow_output(const std::string& name_or_id, std::chrono::milliseconds timeout,
                             const std::function<bool(std::string_view)>& take) = 0;
  // The end of what it has printed, both streams in their order: 10,000 lines and 8 MiB at most.
  // Empty where the engine keeps nothing of it.
  virtual std::string last_output(const std::string& name_or_id) = 0;
  // All that the engine knows of a container, as JSON text; empty: nothing.
  virtual std::string full_description(const std::string& name_or_id) = 0;
  // SIGTERM (or the image's stop signal), then SIGKILL after `grace`. Absent containers are fine.
  virtual void stop(const std::string& name_or_id, std::chrono::seconds grace) = 0;
  virtual void remove(const std::string& name_or_id) = 0;
};

// Which engine, and how it is called.
struct Choice {
  std::string name;                  // docker, podman; empty: what is installed, docker first
  std::vector<std::string> command;  // `sudo -n docker`; empty: the name
};

// A client of the chosen engine. Reads nothing but PATH until asked. Throws `engine.missing` where
// none is installed.
std::unique_ptr<Engine> open(const Choice& choice, sys::System& system);

}  // namespace sparkrun::engine
