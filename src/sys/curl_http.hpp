// SPDX-License-Identifier: MIT
#pragma once

#include "sys/http.hpp"
#include "sys/signals.hpp"

#include <memory>
#include <string>

namespace sparkrun::sys {

// Http by libcurl (7.85 or newer): all conversations share one event loop and its connections,
// which stay open between calls. The number of requests under way at once is bounded, in all and
// for each origin. Nothing is initialised before the first `run`.
class CurlHttp final : public Http {
 public:
  CurlHttp(Signals& signals, std::string user_agent);
  CurlHttp(const CurlHttp&) = delete;
  CurlHttp& operator=(const CurlHttp&) = delete;
  ~CurlHttp() override;

  void run(std::span<HttpConversation* const> conversations) override;

 private:
  class Multi;
  class Run;

  Signals& signals_;
  std::string user_agent_;
  std::unique_ptr<Multi> multi_;
};

}  // namespace sparkrun::sys
