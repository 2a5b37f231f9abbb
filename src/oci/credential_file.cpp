// SPDX-License-Identifier: MIT
#include "oci/credential_file.hpp"

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

[[noreturn]] void refuse(const std::string& name, const std::string& why,
                         const std::string& registry = "REGISTRY") {
  throw Error{"credentials.invalid",
              fmt::format("`{}`: {}", name, why),
              {{"path", name}, {"registry", registry}}};
}

std::string text_of(const Json& entry, std::string_view member_name, const std::string& key,
                    const std::string& name) {
  const Json& value = member(entry, member_name);
  if (!value.is_null() && !value.is_string()) {
    refuse(name, fmt::format("`{}` of `{}` is not a string", member_name, printable(key)), key);
  }
  return string_or(entry, member_name);
}

// docker cuts NULs off, which some helpers append.
std::string_view without_nul(std::string_view text) {
  while (text.ends_with('\0')) text.remove_suffix(1);
  return text;
}

bool is_header_safe(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c > ' ' && c < '\x7f'; });
}

Credential parse_entry(const std::string& key, const Json& entry, const std::string& name) {
  if (!entry.is_object())
    refuse(name, fmt::format("`auths` of `{}` is not an object", printable(key)), key);
  Credential credential{.username = text_of(entry, "username", key, name),
                        .password = text_of(entry, "password", key, name),
                        .identity_token = text_of(entry, "identitytoken", key, name),
                        .registry_token = text_of(entry, "registrytoken", key, name)};
  if (const std::string auth = text_of(entry, "auth", key, name); !auth.empty()) {
    const auto decoded = from_base64(auth);
    if (!decoded || decoded->find(':') == std::string::npos) {
      refuse(name, fmt::format("`auth` of `{}` is not base64 of `user:password`", printable(key)),
             key);
    }
    const auto [username, password] = split_once(*decoded, ':');
    credential.username = username;
    credential.password = without_nul(password);
  }
  if (!is_header_safe(credential.registry_token)) {
    refuse(name,
           fmt::format("`registrytoken` of `{}` has blanks or control characters", printable(key)),
           key);
  }
  return credential;
}

// A helper is a program on PATH, not a path.
std::string parse_helper(const Json& value, const std::string& name) {
  const std::string helper = value.is_string() ? value.get<std::string>() : "/";
  if (helper.find('/') != std::string::npos || !is_header_safe(helper)) {
    refuse(name, "a credential helper is not the end of a program's name");
  }
  return helper;
}

}  // namespace

std::string Credential::basic() const { return "Basic " + to_base64(username + ":" + password); }

CredentialFile CredentialFile::parse(std::string_view text, std::string name) {
  const auto json = parse_json(text);
  if (!json || !json->is_object()) refuse(name, "not a JSON object");
  CredentialFile file;
  const Json& auths = member(*json, "auths");
  if (!auths.is_null() && !auths.is_object()) refuse(name, "`auths` is not an object");
  for (const auto& [key, entry] : auths.items()) {
    const Credential credential = parse_entry(key, entry, name);
    // With a helper docker leaves an empty entry behind; it must not hide a shorter key.
    if (credential.is_empty()) continue;
    if (key == hub_login_key)
      file.entries_.insert_or_assign(normalise_key(key), credential);
    else
      file.entries_.emplace(normalise_key(key), credential);
  }
  const Json& helpers = member(*json, "credHelpers");
  if (!helpers.is_null() && !helpers.is_object()) refuse(name, "`credHelpers` is not an object");
  for (const auto& [key, helper] : helpers.items()) {
    file.helpers_.emplace(normalise_key(key), parse_helper(helper, name));
  }
  if (const Json& store = member(*json, "credsStore"); !store.is_null()) {
    file.default_helper_ = parse_helper(store, name);
  }
  file.name_ = std::move(name);
  return file;
}

std::optional<CredentialFile::Found> CredentialFile::find(std::string_view registry,
                                                          std::string_view repository) const {
  std::string key = fmt::format("{}/{}", normalise_host(registry), repository);
  while (true) {
    const size_t slash = key.rfind('/');
    if (const auto found = entries_.find(key); found != entries_.end()) {
      return Found{.credential = found->second, .is_of_path = slash != std::string::npos};
    }
    if (slash == std::string::npos) return std::nullopt;
    key.resize(slash);
  }
}

std::optional<std::string> CredentialFile::helper(std::string_view registry) const {
  if (const auto found = helpers_.find(normalise_host(registry)); found != helpers_.end()) {
    // An empty name switches the default helper off for this registry.
    return found->second.empty() ? std::nullopt : std::optional{found->second};
  }
  return default_helper_.empty() ? std::nullopt : std::optional{default_helper_};
}

std::string helper_key(std::string_view registry) {
  return normalise_host(registry) == hub ? std::string{hub_login_key} : std::string{registry};
}

}  // namespace sparkrun::oci
