// SPDX-License-Identifier: MIT
#include "oci/credentials.hpp"

#include "base/base64.hpp"
#include "base/error.hpp"
#include "base/json_value.hpp"
#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace sparkrun::oci {
namespace {

constexpr std::string_view hub = "docker.io";
constexpr std::array<std::string_view, 3> hub_names = {"docker.io", "index.docker.io",
                                                       "registry-1.docker.io"};

// The key that `docker login` writes for Docker Hub; it wins over other names of the same registry.
constexpr std::string_view hub_login_key = "https://index.docker.io/v1/";

std::string normalise_host(std::string_view host) {
  const std::string lower = to_lower(host);
  return std::ranges::find(hub_names, lower) != hub_names.end() ? std::string{hub} : lower;
}

// `https://Host/v1/` and `host` name the same thing; a path that is not an API version stays.
std::string normalise_key(std::string_view key) {
  for (const std::string_view scheme : {"https://", "http://"}) {
    if (key.starts_with(scheme)) key.remove_prefix(scheme.size());
  }
  while (key.ends_with('/')) key.remove_suffix(1);
  const size_t slash = std::min(key.find('/'), key.size());
  const std::string_view path = key.substr(slash);
  return normalise_host(key.substr(0, slash)) +
         (path == "/v1" || path == "/v2" ? "" : std::string{path});
}

[[noreturn]] void refuse(const std::filesystem::path& path, const std::string& why,
                         const std::string& registry = "REGISTRY") {
  throw Error{"credentials.invalid",
              fmt::format("`{}`: {}", path.string(), why),
              {{"path", path.string()}, {"registry", registry}}};
}

// docker cuts NULs off, which some helpers append.
std::string_view without_nul(std::string_view text) {
  while (text.ends_with('\0')) text.remove_suffix(1);
  return text;
}

bool is_header_safe(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c > ' ' && c < '\x7f'; });
}

Credential parse_entry(const std::string& key, const Json& entry,
                       const std::filesystem::path& path) {
  if (!entry.is_object())
    refuse(path, fmt::format("`auths` of `{}` is not an object", printable(key)), key);
  Credential credential{.username = string_or(entry, "username"),
                        .password = string_or(entry, "password"),
                        .identity_token = string_or(entry, "identitytoken"),
                        .registry_token = string_or(entry, "registrytoken")};
  if (const std::string auth = string_or(entry, "auth"); !auth.empty()) {
    const auto decoded = from_base64(auth);
    if (!decoded || decoded->find(':') == std::string::npos) {
      refuse(path, fmt::format("`auth` of `{}` is not base64 of `user:password`", printable(key)),
             key);
    }
    const auto [username, password] = split_once(*decoded, ':');
    credential.username = username;
    credential.password = without_nul(password);
  }
  if (!is_header_safe(credential.registry_token)) {
    refuse(path,
           fmt::format("`registrytoken` of `{}` has blanks or control characters", printable(key)),
           key);
  }
  return credential;
}

}  // namespace

std::string Credential::basic() const { return "Basic " + to_base64(username + ":" + password); }

Credentials Credentials::parse(std::string_view text, const std::filesystem::path& path) {
  const auto json = parse_json(text);
  if (!json || !json->is_object()) refuse(path, "not a JSON object");
  Credentials credentials;
  const Json& auths = member(*json, "auths");
  if (!auths.is_null() && !auths.is_object()) refuse(path, "`auths` is not an object");
  for (const auto& [key, entry] : auths.items()) {
    const Credential credential = parse_entry(key, entry, path);
    // With a helper docker leaves an empty entry behind; it must not hide a shorter key.
    if (credential.is_empty()) continue;
    if (key == hub_login_key)
      credentials.entries_.insert_or_assign(normalise_key(key), credential);
    else
      credentials.entries_.emplace(normalise_key(key), credential);
  }
  const Json& helpers = member(*json, "credHelpers");
  if (!helpers.is_null() && !helpers.is_object()) refuse(path, "`credHelpers` is not an object");
  for (const auto& [key, name] : helpers.items()) {
    if (name.is_string()) credentials.helpers_.emplace(normalise_key(key), name.get<std::string>());
  }
  credentials.default_helper_ = string_or(*json, "credsStore");
  return credentials;
}

std::optional<Credential> Credentials::find(std::string_view registry,
                                            std::string_view repository) const {
  std::string key = fmt::format("{}/{}", normalise_host(registry), repository);
  while (true) {
    if (const auto found = entries_.find(key); found != entries_.end()) return found->second;
    const size_t slash = key.rfind('/');
    if (slash == std::string::npos) return std::nullopt;
    key.resize(slash);
  }
}

std::optional<std::string> Credentials::helper(std::string_view registry) const {
  if (const auto found = helpers_.find(normalise_host(registry)); found != helpers_.end()) {
    return found->second;
  }
  return default_helper_.empty() ? std::nullopt : std::optional{default_helper_};
}

std::filesystem::path docker_config_path(const sys::Environment& environment) {
  const std::filesystem::path folder{environment.get_or("DOCKER_CONFIG", "")};
  return (folder.empty() ? environment.home() / ".docker" : folder) / "config.json";
}

}  // namespace sparkrun::oci
