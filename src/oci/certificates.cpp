// SPDX-License-Identifier: MIT
#include "oci/certificates.hpp"

#include "base/error.hpp"
#include "sys/files.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sparkrun::oci {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view hub_host = "registry-1.docker.io";

// The folder of Docker Hub may bear its short name.
std::vector<std::string> folder_names(const std::string& host) {
  if (host == hub_host) return {host, "docker.io"};
  return {host};
}

}  // namespace

Certificates::Certificates(std::string ca_pem, bool is_named, std::vector<fs::path> folders)
    : ca_pem_(std::move(ca_pem)), is_named_(is_named), folders_(std::move(folders)) {}

void Certificates::read(const fs::path& folder, Entry& entry) {
  for (const std::string& file : sys::list_files(folder)) {
    const fs::path path = folder / file;
    if (path.extension() == ".crt") entry.ca_pem += sys::read_file(path).value_or("") + "\n";
    if (path.extension() != ".cert" || !entry.client_certificate.empty()) continue;
    const fs::path key = fs::path{path}.replace_extension(".key");
    if (!sys::regular_file_size(key)) {
      throw Error{
          "certificates.invalid",
          fmt::format("`{}` has no key beside it (`{}`)", path.string(), key.filename().string()),
          {{"path", path.string()}}};
    }
    entry.client_certificate = path.string();
    entry.client_key = key.string();
  }
}

const Certificates::Entry& Certificates::entry(const std::string& host) {
  if (const auto found = entries_.find(host); found != entries_.end()) return found->second;
  Entry entry;
  for (const fs::path& folder : folders_) {
    for (const std::string& name : folder_names(host)) read(folder / name, entry);
  }
  return entries_.emplace(host, std::move(entry)).first->second;
}

sys::HttpTls Certificates::find(const std::string& host, const std::string& registry) {
  const Entry& own = entry(host);
  std::string& bundle = ca_bundles_[{host, registry}];
  if (bundle.empty()) {
    bundle = ca_pem_ + own.ca_pem;
    if (registry != host) bundle += entry(registry).ca_pem;
  }
  return {
      .ca_pem = bundle, .client_certificate = own.client_certificate, .client_key = own.client_key};
}

bool Certificates::is_ca_named(const std::string& host) {
  return is_named_ || !entry(host).ca_pem.empty();
}

std::vector<fs::path> certificate_folders(const sys::Environment& environment) {
  // Ours is `$XDG_CONFIG_HOME/sparkrun`.
  const fs::path config = environment.config_directory().parent_path();
  return {config / "containers/certs.d", config / "docker/certs.d", "/etc/containers/certs.d",
          "/etc/docker/certs.d"};
}

}  // namespace sparkrun::oci
