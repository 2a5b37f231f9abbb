// SPDX-License-Identifier: MIT
#include "oci/connect.hpp"

#include "oci/credentials.hpp"
#include "sys/files.hpp"

namespace sparkrun::oci {

Registry connect(sys::System& system, const config::Settings& settings) {
  const std::filesystem::path path = docker_config_path(system.environment);
  const std::optional<std::string> text = sys::read_file(path);
  Credentials credentials = text ? Credentials::parse(*text, path) : Credentials{};
  return Registry{system.http,
                  std::move(credentials),
                  {.plain_http = settings.list("plain_http"),
                   .tls = {},
                   .has_ca = !system.environment.get_or("SSL_CERT_FILE", "").empty(),
                   .offline = settings.boolean("offline").value_or(false)}};
}

}  // namespace sparkrun::oci
