// SPDX-License-Identifier: MIT
#include "oci/credentials.hpp"

#include "base/error.hpp"
#include "base/json_value.hpp"
#include "base/secret.hpp"
#include "base/text.hpp"
#include "sys/files.hpp"

#include <fmt/format.h>

#include <cstring>

namespace sparkrun::oci {
namespace {

namespace fs = std::filesystem;

constexpr size_t quoted_length_max = 200;
constexpr size_t answer_bytes_max = size_t{256} << 10;

// What docker's own helpers say when they have no login (docker-credential-helpers,
// credentials/error.go); with exit 1, like a failure.
constexpr std::string_view not_found_text = "credentials not found";
// The user name that marks a secret as an identity token (docker/cli).
constexpr std::string_view token_user = "<token>";

std::string first_line(std::string_view text) {
  const std::string_view line = split_once(trim(text), '\n').first;
  return redact(printable(line.substr(0, quoted_length_max)));
}

// By the protocol a helper's words about a failure are on its standard output.
std::string what_happened(const sys::ProcessResult& result, std::chrono::milliseconds patience) {
  if (result.spawn_errno != 0) return std::strerror(result.spawn_errno);
  if (result.timed_out) {
    return fmt::format("no answer within {} s",
                       std::chrono::ceil<std::chrono::seconds>(patience).count());
  }
  const std::string said = first_line(trim(result.err).empty() ? result.out : result.err);
  return fmt::format("exit {}{}{}", result.exit, said.empty() ? "" : ": ", said);
}

}  // namespace

Credentials::Credentials(std::vector<CredentialFile> files, sys::Processes& processes,
                         std::chrono::milliseconds patience)
    : files_(std::move(files)), processes_(&processes), patience_(patience) {}

std::optional<Login> Credentials::find(std::string_view registry, std::string_view repository) {
  for (const CredentialFile& file : files_) {
    if (auto login = find_in(file, registry, repository)) return login;
  }
  return std::nullopt;
}

std::optional<Login> Credentials::find_in(const CredentialFile& file, std::string_view registry,
                                          std::string_view repository) {
  const auto entry = file.find(registry, repository);
  const auto helper = file.helper(registry);
  if (helper && (!entry || !entry->is_of_path)) {
    if (const auto credential = ask_helper(*helper, registry)) {
      return Login{*credential, fmt::format("docker-credential-{} ({})", *helper, file.name())};
    }
  }
  if (!entry) return std::nullopt;
  return Login{entry->credential, file.name()};
}

std::optional<Credential> Credentials::ask_helper(const std::string& helper,
                                                  std::string_view registry) {
  const std::pair<std::string, std::string> key{helper, std::string{registry}};
  auto known = asked_.find(key);
  if (known == asked_.end()) {
    known = asked_.emplace(key, run_helper(helper, key.second)).first;
  }
  if (const auto* const error = std::get_if<Error>(&known->second)) throw Error{*error};
  return std::get<std::optional<Credential>>(known->second);
}

// The protocol of docker-credential-helpers: the key on standard input, one JSON object back.
Credentials::HelperAnswer Credentials::run_helper(const std::string& helper,
                                                  const std::string& registry) {
  const std::string program = "docker-credential-" + helper;
  const sys::ProcessResult result = processes_->run({.argv = {program, "get"},
                                                     .environment = {},
                                                     .input = helper_key(registry),
                                                     .timeout = patience_,
                                                     .output_bytes_max = answer_bytes_max});
  if (!result.timed_out && result.exit != 0 &&
      (result.out + result.err).find(not_found_text) != std::string::npos) {
    return std::optional<Credential>{};
  }
  const auto failure = [&](const std::string& why) {
    return Error{
        "credentials.helper_failed",
        fmt::format("the credential helper `{}` gives no login for {}: {}", printable(program),
                    registry, why),
        {{"helper", printable(program)}, {"registry", registry}, {"key", helper_key(registry)}}};
  };
  if (!result.is_success()) return failure(what_happened(result, patience_));
  const auto json = parse_json(result.out);
  if (!json || !json->is_object()) return failure("its answer is not a JSON object");
  const std::string user = string_or(*json, "Username"), secret = string_or(*json, "Secret");
  Credential credential;
  if (user == token_user) {
    credential.identity_token = secret;
  } else {
    credential.username = user;
    credential.password = secret;
  }
  if (credential.is_empty()) return failure("its answer has no `Username` and `Secret`");
  return std::optional{credential};
}

fs::path docker_config_path(const sys::Environment& environment) {
  const fs::path folder{environment.get_or("DOCKER_CONFIG", "")};
  return (folder.empty() ? environment.home() / ".docker" : folder) / "config.json";
}

std::vector<CredentialFile> read_credential_files(const sys::Environment& environment) {
  std::vector<CredentialFile> files;
  if (const std::string text = environment.get_or("DOCKER_AUTH_CONFIG", ""); !text.empty()) {
    files.push_back(CredentialFile::parse(text, "DOCKER_AUTH_CONFIG"));
  }
  const auto add = [&](const fs::path& path) {
    if (path.empty()) return false;
    const auto text = sys::read_file(path);
    if (text && !trim(*text).empty()) files.push_back(CredentialFile::parse(*text, path.string()));
    return text.has_value();
  };
  // Who names a file wants that one and no other (skopeo#1909).
  if (const fs::path named{environment.get_or("REGISTRY_AUTH_FILE", "")}; !named.empty()) {
    if (add(named)) return files;
    throw Error{"file.unreadable",
                fmt::format("REGISTRY_AUTH_FILE names `{}`, which does not exist", named.string())};
  }
  add(docker_config_path(environment));
  const fs::path runtime{environment.get_or("XDG_RUNTIME_DIR", "")};
  add(runtime.is_absolute() ? runtime / "containers/auth.json" : fs::path{});
  // Ours is `$XDG_CONFIG_HOME/sparkrun`.
  add(environment.config_directory().parent_path() / "containers/auth.json");
  return files;
}

}  // namespace sparkrun::oci
