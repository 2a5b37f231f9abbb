// SPDX-License-Identifier: MIT
#include "base/base64.hpp"
#include "base/digest.hpp"
#include "base/json_value.hpp"
#include "base/text.hpp"
#include "fuzz/support.hpp"
#include "oci/credential_file.hpp"

// The input is a docker config.json. A secret is planted in front of all its strings, so that a
// message which quotes any of them is found out.
namespace sparkrun::fuzz {
namespace {

using oci::Credential;
using oci::CredentialFile;

const std::string path = "/h/.docker/config.json";

std::variant<CredentialFile, Error> parse(std::string_view text) {
  return outcome_of({"credentials.invalid"}, [&] { return CredentialFile::parse(text, path); });
}

// All that is ever printed of an error.
std::string text_of(const Error& error) {
  std::string text = std::string{error.what()} + "\n" + error.hint();
  for (const auto& [name, value] : error.details()) text += "\n" + value;
  return text + "\n" + join(error.problems(), "\n") + "\n" + join(error.context(), "\n");
}

// Puts `secret` in front of each string, inside the base64 where it is of `user:password`.
void plant(Json& value, const std::string& secret, std::vector<std::string>& planted) {
  if (value.is_structured()) {
    for (Json& item : value) plant(item, secret, planted);
  } else if (value.is_string()) {
    const auto text = value.get<std::string>();
    const auto decoded = from_base64(text);
    const size_t colon = decoded ? decoded->find(':') : std::string::npos;
    planted.push_back(colon == std::string::npos ? secret + text
                                                 : to_base64(decoded->substr(0, colon + 1) +
                                                             secret + decoded->substr(colon + 1)));
    value = planted.back();
  }
}

bool is_equal(const std::optional<CredentialFile::Found>& a,
              const std::optional<CredentialFile::Found>& b) {
  if (!a || !b) return !a && !b;
  const Credential &x = a->credential, &y = b->credential;
  return a->is_of_path == b->is_of_path && x.username == y.username && x.password == y.password &&
         x.identity_token == y.identity_token && x.registry_token == y.registry_token;
}

void check_lookup(const CredentialFile& file, const std::string& registry,
                  const std::string& repository) {
  if (const auto helper = file.helper(registry)) {
    expect(!helper->empty() && helper->find('/') == std::string::npos, "a helper is on PATH");
  }
  const auto found = file.find(registry, repository);
  expect(is_equal(found, file.find(to_upper(registry), repository)), "hosts have no case");
  if (!found) return;
  const Credential& credential = found->credential;
  expect(!credential.is_empty(), "an empty entry is none");
  expect(std::ranges::all_of(credential.registry_token, [](char c) { return c > ' ' && c <= '~'; }),
         "a token cannot end its header");
  expect(
      from_base64(credential.basic().substr(6)) == credential.username + ":" + credential.password,
      "what is sent is what is stored");
  expect(file.find(registry, repository + "/more").has_value(), "a key covers all that is below");
}

void check(const CredentialFile& file, const Json& json) {
  expect(file.name() == path, "the name is kept");
  const auto of_hub = file.find("docker.io", "a/b");
  for (const std::string name : {"index.docker.io", "registry-1.docker.io"}) {
    expect(
        is_equal(of_hub, file.find(name, "a/b")) && file.helper(name) == file.helper("docker.io"),
        "all names of Docker Hub are one");
  }
  for (const std::string_view list : {"auths", "credHelpers"}) {
    for (const auto& [key, entry] : member(json, list).items()) {
      const auto [registry, repository] = split_once(key, '/');
      check_lookup(file, std::string{registry}, std::string{repository});
      check_lookup(file, key, "a");
    }
  }
}

void try_text(std::string_view text, const Json& json, const std::vector<std::string>& secrets) {
  const auto outcome = parse(text);
  if (const auto* const file = std::get_if<CredentialFile>(&outcome)) return check(*file, json);
  const std::string told = text_of(std::get<Error>(outcome));
  for (const std::string& secret : secrets) {
    expect(told.find(secret) == std::string::npos, "no error tells a secret");
  }
}

}  // namespace

void try_input(std::string_view input) {
  auto json = parse_json(input);
  if (!json) {
    const auto outcome = parse(input);
    expect(text_of(std::get<Error>(outcome)) == text_of(std::get<Error>(parse(""))),
           "an error says nothing of a text that is no JSON");
    return;
  }
  try_text(input, *json, {});
  // Of the input's own making, so that the fuzzer cannot put it where it may be told: in a key.
  const std::string secret = "pw" + sha256_hex(input).substr(0, 20);
  std::vector<std::string> secrets{secret};
  plant(*json, secret, secrets);
  try_text(to_json_line(*json), *json, secrets);
}

}  // namespace sparkrun::fuzz
