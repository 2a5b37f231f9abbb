// SPDX-License-Identifier: MIT
#pragma once

#include "sys/http.hpp"
#include "sys/signals.hpp"

#include <memory>
#include <string>

namespace sparkrun::sys {

struct CurlOptions {
  std::string user_agent = "sparkrun";
  std::string ca_file;  // what SSL_CERT_FILE names; empty: the system's CAs
};

// Http by libcurl (7.85 or newer): all conversations share one event loop and its connections,
// which stay open between calls. Proxies come from the usual variables and are not used for
// loopback hosts. A redirect is followed only for GET and HEAD. Nothing is initialised before the
// first `run`.
class CurlHttp final : public Http {
 public:
  CurlHttp(Signals& signals, CurlOptions options);
  CurlHttp(const CurlHttp&) = delete;
  CurlHttp& operator=(const CurlHttp&) = delete;
  ~CurlHttp() override;

  void run(std::span<HttpConversation* const> conversations) override;

 private:
  class Multi;
  class Run;

  Signals& signals_;
  CurlOptions options_;
  std::unique_ptr<Multi> multi_;
};

}  // namespace sparkrun::sys
