// SPDX-License-Identifier: MIT
#pragma once

#include "sys/environment.hpp"
#include "sys/http.hpp"

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sparkrun::oci {

// Which CAs count for a host besides the system's, and which certificate we show it. Folders
// `certs.d/HOST[:PORT]` hold CAs in `*.crt` and the client's certificate in `NAME.cert` with its
// key in `NAME.key` (docker, "Verify repository client with certificates"; containers-certs.d(5)).
class Certificates {
 public:
  Certificates() = default;

  // `ca_pem` counts everywhere. `is_named`: the user chose it for registries, and did not merely
  // have it in the environment. All `folders` with a subfolder for a host count, the first one's
  // client certificate before others.
  Certificates(std::string ca_pem, bool is_named, std::vector<std::filesystem::path> folders);

  // For a request to `host` on behalf of `registry` (both `host[:port]`): the CAs of both, the
  // client certificate of `host` alone. What it refers to lives as long as this. Throws
  // `certificates.invalid` and `file.unreadable`.
  sys::HttpTls find(const std::string& host, const std::string& registry);

  // Whether a CA was named for this host: then it speaks TLS.
  bool is_ca_named(const std::string& host);

 private:
  struct Entry {
    std::string ca_pem;
    std::string client_certificate;
    std::string client_key;
  };
  const Entry& entry(const std::string& host);
  static void read(const std::filesystem::path& folder, Entry& entry);

  std::string ca_pem_;
  bool is_named_ = false;
  std::vector<std::filesystem::path> folders_;
  std::map<std::string, Entry> entries_;                                   // by host
  std::map<std::pair<std::string, std::string>, std::string> ca_bundles_;  // by host and registry
};

// Where docker (with root and without) and podman look, the user's own first.
std::vector<std::filesystem::path> certificate_folders(const sys::Environment& environment);

}  // namespace sparkrun::oci
