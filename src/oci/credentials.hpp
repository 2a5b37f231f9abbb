// SPDX-License-Identifier: MIT
#pragma once

#include "base/error.hpp"
#include "oci/credential_file.hpp"
#include "sys/environment.hpp"
#include "sys/process.hpp"

#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace sparkrun::oci {

// A credential, and where it comes from in the words of a message: `/root/.docker/config.json`.
struct Login {
  Credential credential;
  std::string source;
};

// Everything that is known of logins. Of several files the first one with a login for the registry
// counts; within a file a key with a path, then the credential helper, then the key of the host.
class Credentials {
 public:
  Credentials() = default;
  // `processes` outlives this; it runs credential helpers, each for at most `patience`.
  Credentials(std::vector<CredentialFile> files, sys::Processes& processes,
              std::chrono::milliseconds patience);

  // Asks a helper once for each registry. Throws `credentials.helper_failed` and `interrupted`.
  std::optional<Login> find(std::string_view registry, std::string_view repository);

 private:
  std::optional<Login> find_in(const CredentialFile& file, std::string_view registry,
                               std::string_view repository);
  std::optional<Credential> ask_helper(const std::string& helper, std::string_view registry);

  std::vector<CredentialFile> files_;
  sys::Processes* processes_ = nullptr;
  std::chrono::milliseconds patience_{0};
  using HelperAnswer = std::variant<std::optional<Credential>, Error>;
  HelperAnswer run_helper(const std::string& helper, const std::string& registry);

  // By helper and registry.
  std::map<std::pair<std::string, std::string>, HelperAnswer> asked_;
};

// `$DOCKER_CONFIG/config.json`, else `~/.docker/config.json`.
std::filesystem::path docker_config_path(const sys::Environment& environment);

// DOCKER_AUTH_CONFIG; then the file of REGISTRY_AUTH_FILE alone, or else docker's and podman's.
// Throws `credentials.invalid` and `file.unreadable`.
std::vector<CredentialFile> read_credential_files(const sys::Environment& environment);

}  // namespace sparkrun::oci
