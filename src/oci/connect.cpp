// SPDX-License-Identifier: MIT
#include "oci/connect.hpp"

#include "base/error.hpp"
#include "base/json_value.hpp"
#include "oci/certificates.hpp"
#include "oci/credentials.hpp"
#include "sys/files.hpp"

#include <fmt/format.h>

namespace sparkrun::oci {
namespace {

std::string read_ca(const std::string& path, const std::string& said_by) {
  if (path.empty()) return "";
  const auto text = sys::read_file(path);
  if (text) return *text + "\n";
  throw Error{"file.unreadable", fmt::format("{} names `{}`, which does not exist", said_by, path)};
}

// Many set SSL_CERT_FILE to the bundle of the system's CAs, which count in any case.
constexpr std::string_view system_bundle = "/etc/ssl/certs/ca-certificates.crt";

std::string extra_ca_file(const sys::Environment& environment) {
  const std::string path = environment.get_or("SSL_CERT_FILE", "");
  return path == system_bundle ? "" : path;
}

Certificates read_certificates(const sys::Environment& environment,
                               const config::Settings& settings) {
  const std::string named = settings.text("cacert");
  return {read_ca(named, settings.origin("cacert")) +
              read_ca(extra_ca_file(environment), "SSL_CERT_FILE"),
          !named.empty(), certificate_folders(environment)};
}

// Docker's config.json names proxies for the whole machine under `default`. The environment, which
// libcurl reads, comes first.
Proxies read_proxies(const sys::Environment& environment) {
  for (const char* const variable :
       {"http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"}) {
    if (environment.get(variable)) return {};
  }
  const auto text = sys::read_file(docker_config_path(environment));
  const Json json = parse_json(text.value_or("")).value_or(Json{});
  const Json& proxies = member(member(json, "proxies"), "default");
  return {.http = string_or(proxies, "httpProxy"),
          .https = string_or(proxies, "httpsProxy"),
          .none = environment.get_or(
              "no_proxy", environment.get_or("NO_PROXY", string_or(proxies, "noProxy")))};
}

}  // namespace

Registry connect(sys::System& system, const config::Settings& settings, Talk talk) {
  const Timeouts timeouts{.connect = settings.seconds("connect_timeout"),
                          .first_byte = settings.seconds("first_byte_timeout"),
                          .request = settings.seconds("request_timeout"),
                          .reference = settings.seconds("reference_timeout")};
  return Registry{system.http,
                  {read_credential_files(system.environment), system.processes, timeouts.request},
                  {.plain_http = settings.list("plain_http"),
                   .hub_mirrors = settings.list("hub_mirrors"),
                   .offline = settings.boolean("offline").value_or(false),
                   .timeouts = timeouts,
                   .proxies = read_proxies(system.environment),
                   .notice = std::move(talk.notice),
                   .warning = std::move(talk.warning)},
                  read_certificates(system.environment, settings)};
}

}  // namespace sparkrun::oci
