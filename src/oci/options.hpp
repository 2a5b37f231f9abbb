// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace sparkrun::oci {

// How long a registry is waited for. The last one bounds all that is asked for one reference:
// tries, waits, tokens and redirects together.
struct Timeouts {
  std::chrono::milliseconds connect{10'000};
  std::chrono::milliseconds first_byte{15'000};  // the longest silence
  std::chrono::milliseconds request{30'000};
  std::chrono::milliseconds reference{55'000};
};

// As docker's config.json has them; empty: what the environment says.
struct Proxies {
  std::string http;   // for http URLs
  std::string https;  // for https URLs
  std::string none;   // hosts to be asked directly
};

struct RegistryOptions {
  std::vector<std::string>
      plain_http;  // registries asked over http: `host` (any port), `host:port`
  std::vector<std::string> hub_mirrors;  // URLs that are asked before Docker Hub
  bool offline = false;
  Timeouts timeouts;
  Proxies proxies;
  std::function<void(const std::string&)> notice;   // told of waits, while they begin
  std::function<void(const std::string&)> warning;  // told what results warn of, each once
};

}  // namespace sparkrun::oci
