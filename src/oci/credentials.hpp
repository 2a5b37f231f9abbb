// SPDX-License-Identifier: MIT
#pragma once

#include "sys/environment.hpp"

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace sparkrun::oci {

// How to log in at a registry. No member of it may ever stand in a message.
struct Credential {
  std::string username;
  std::string password;
  std::string identity_token;  // an OAuth2 refresh token
  std::string registry_token;  // a Bearer token for the registry itself

  [[nodiscard]] bool has_password() const { return !username.empty() && !password.empty(); }
  [[nodiscard]] bool is_empty() const {
    return !has_password() && identity_token.empty() && registry_token.empty();
  }
  // The value of an `Authorization` header (RFC 7617).
  [[nodiscard]] std::string basic() const;
};

// What docker's config.json knows of logins. Credential helpers are not run; which one would have
// to be asked can be said.
class Credentials {
 public:
  Credentials() = default;

  // `text` of the file `path`, which only messages name. Throws `credentials.invalid`.
  static Credentials parse(std::string_view text, const std::filesystem::path& path);

  // The entry whose key is the longest that covers `registry/repository`: a key is a host, or a
  // host and the beginning of a path. All names of Docker Hub are one.
  [[nodiscard]] std::optional<Credential> find(std::string_view registry,
                                               std::string_view repository) const;

  // The helper (`docker-credential-NAME`) that holds the logins of this registry, if one does.
  [[nodiscard]] std::optional<std::string> helper(std::string_view registry) const;

 private:
  std::map<std::string, Credential> entries_;  // by normalised key
  std::map<std::string, std::string> helpers_;
  std::string default_helper_;
};

// `$DOCKER_CONFIG/config.json`, else `~/.docker/config.json`.
std::filesystem::path docker_config_path(const sys::Environment& environment);

}  // namespace sparkrun::oci
