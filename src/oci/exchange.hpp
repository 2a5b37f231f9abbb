// SPDX-License-Identifier: MIT
#pragma once

#include "oci/certificates.hpp"
#include "oci/options.hpp"
#include "sys/http.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace sparkrun::oci {

constexpr int tries_max = 3;
constexpr int redirects_max = 5;
constexpr std::chrono::seconds retry_after_max{20};

// How long a server asks us to stay away (RFC 9110, 10.2.3): seconds, or a date, which is compared
// with the server's own clock. Nothing when it does not say so, or in a way that cannot be read.
std::optional<std::chrono::seconds> retry_after(const sys::HttpResponse& response);

// Whether the same request may succeed a little later: 408, 429, 5xx, or a fault of the transport.
bool is_passing(const sys::HttpResponse& response);

// Requests on their way to the answers that count: tried again where that may help, led on by
// redirects, all of them together within the time of one reference. Without I/O.
//
// The body of a download (a request with a sink) is bounded by silence alone, and goes on where it
// was cut off; each MiB that has come counts as a new beginning.
//
// An `Authorization` header stays with the origin (scheme, host and port) that the request was for;
// no redirect leads from https to http, nor to a private address unless the registry is on one
// (GHSA-vh4v-2xq2-g5cg; go-containerregistry#2193).
class Exchange {
 public:
  // Both outlive the exchange.
  Exchange(const RegistryOptions& options, Certificates& certificates);

  // Who is asked from now on.
  void go_to(std::string registry, std::string origin);

  // Throws `registry.timeout` when the time is up, `registry.failed` for a URL that is not
  // followed.
  sys::HttpStep begin(sys::HttpRequest request, int tries = tries_max);
  // The next step, or the answer that counts: that of the last try and the last redirect.
  // `is_last_try`: this one counts, whatever it is.
  std::variant<sys::HttpStep, sys::HttpResponse> on_response(const sys::HttpResponse& response,
                                                             bool is_last_try = false);
  // After a pause.
  sys::HttpStep resume();

  // Where the last answer came from.
  [[nodiscard]] const std::string& url() const { return current_.url; }
  [[nodiscard]] int requests() const { return requests_; }

 private:
  sys::HttpStep send();
  void prepare_stream();
  void count_time(const sys::HttpResponse& response);
  [[nodiscard]] bool may_be_followed(const sys::HttpResponse& response) const;
  // What is wrong with going to this URL, or nothing.
  [[nodiscard]] std::optional<std::string> objection(const std::string& url) const;
  std::variant<sys::HttpStep, sys::HttpResponse> follow(const sys::HttpResponse& response);
  std::optional<sys::HttpPause> pause_before_retry(const sys::HttpResponse& response);
  void tell(const sys::HttpResponse& response, std::chrono::milliseconds pause) const;

  const RegistryOptions& options_;
  Certificates& certificates_;
  std::string registry_;  // host[:port]
  std::string origin_;
  bool is_private_ = false;   // the registry's address is
  sys::HttpRequest request_;  // as it was begun
  sys::HttpRequest current_;  // after redirects
  int tries_ = 0;
  int tries_left_ = 0;
  int tries_done_ = 0;
  int redirects_ = 0;
  bool reads_bundle_ = false;
  int requests_ = 0;
  long long offset_ = 0;  // of the sink, when the request was sent
  std::chrono::milliseconds spent_{0};
};

}  // namespace sparkrun::oci
