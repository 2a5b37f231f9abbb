// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

// One place where logins are kept: docker's config.json, podman's auth.json (the same format), or
// the text of DOCKER_AUTH_CONFIG. Sources: docker/cli, cli/config/configfile;
// containers-auth.json(5).
class CredentialFile {
 public:
  // `name` is the path, or whatever messages are to call it. Throws `credentials.invalid`.
  static CredentialFile parse(std::string_view text, std::string name);

  // The entry with the longest key that covers `registry/repository`: a key is a host, or a host
  // and the beginning of a path. All names of Docker Hub are one.
  struct Found {
    Credential credential;
    bool is_of_path = false;  // the key names more than the host
  };
  [[nodiscard]] std::optional<Found> find(std::string_view registry,
                                          std::string_view repository) const;

  // The helper (`docker-credential-NAME`) that is to be asked for this registry: that of
  // `credHelpers`, else that of `credsStore`.
  [[nodiscard]] std::optional<std::string> helper(std::string_view registry) const;

  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  std::string name_;
  std::map<std::string, Credential> entries_;   // by normalised key
  std::map<std::string, std::string> helpers_;  // by normalised host
  std::string default_helper_;
};

// What a credential helper is asked for: `https://index.docker.io/v1/` for Docker Hub, else the
// registry itself.
std::string helper_key(std::string_view registry);

}  // namespace sparkrun::oci
