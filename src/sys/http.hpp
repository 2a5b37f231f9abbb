// SPDX-License-Identifier: MIT
#pragma once

#include "base/error.hpp"

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace sparkrun::sys {

// Everything that bounds one exchange; nothing from outside is unlimited.
struct HttpLimits {
  std::chrono::milliseconds connect_timeout{10'000};
  // The longest silence of a server that is connected, counted in whole seconds; 0: any.
  std::chrono::milliseconds silence_timeout{0};
  std::chrono::milliseconds total_timeout{30'000};  // 0: any
  size_t body_bytes_max = size_t{4} << 20;
};

// Whom to believe and how to prove oneself, beyond the system's CAs.
struct HttpTls {
  std::string_view ca_pem;  // counts as CAs too; outlives the request
  // Also the bundle of all system CAs, whose folder may lack one that was added by hand.
  bool reads_bundle = false;
  std::string client_certificate;  // path of a PEM file; empty: none
  std::string client_key;          // path of a PEM file
};

// Takes a body that is too large for memory, piece by piece. Called from within libcurl: nothing of
// it throws.
class HttpSink {
 public:
  virtual ~HttpSink() = default;
  // How many bytes it holds, so that the rest can be asked for.
  [[nodiscard]] virtual long long offset() const = 0;
  // A body follows from its first byte on: what it holds does not count.
  virtual void restart() = 0;
  // False: no more; the request ends with the fault `stopped`.
  virtual bool take(std::string_view bytes) = 0;
  // Why it took no more.
  [[nodiscard]] virtual std::optional<Error> failure() const = 0;
};

struct HttpRequest {
  std::string method = "GET";
  std::string url;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  std::string unix_socket;  // path; empty: over the network
  HttpLimits limits;
  HttpTls tls;
  // URL; empty: as the usual variables say. Never used for loopback hosts.
  std::string proxy;
  std::string no_proxy;  // hosts that `proxy` is not for, in the words of NO_PROXY
  // The body of a 200, or of a 206 that goes on where the sink is, goes there as the server sends
  // it (no encoding is undone), without a limit of its size. Outlives the request.
  HttpSink* sink = nullptr;
  // Only to a public address: not to this machine, a private network or a link.
  bool is_public_only = false;
  // False: a signal that arrives meanwhile stays for whoever waits for signals next. For questions
  // that are asked beside a running job, whose signals are the job's, and for cleaning up after
  // one.
  bool is_interruptible = true;
};

// Why there is no answer. `protocol`: what came is not HTTP, or was cut off. `redirect` is for
// those who follow redirects; `stopped`: the sink took no more.
// `untrusted`: it speaks TLS, and its certificate is not to be believed.
enum class HttpFault {
  none,
  resolve,
  connect,
  timeout,
  tls,
  untrusted,
  too_large,
  redirect,
  private_address,
  protocol,
  stopped
};

struct HttpResponse {
  int status = 0;
  std::vector<std::pair<std::string, std::string>> headers;  // as sent, repeated names kept
  std::string body;
  HttpFault fault = HttpFault::none;
  std::string fault_text;
  bool was_sent = false;     // the request went out: the server was reached
  bool speaks_http = false;  // a status line came, even if the rest is a fault
  std::string peer_address;  // IP; empty when unknown or behind a proxy
  std::chrono::milliseconds elapsed{0};

  // The first header of that name, compared without case.
  [[nodiscard]] std::optional<std::string> header(std::string_view name) const;
  [[nodiscard]] std::vector<std::string> all_headers(std::string_view name) const;
  // Where the body of a 206 begins (RFC 9110, 14.4), when that can be read.
  [[nodiscard]] std::optional<long long> range_start() const;
};

struct HttpWait {};  // another conversation has to get further first (it fetches a token for both)
// Some time between the two has to pass first.
struct HttpPause {
  std::chrono::milliseconds shortest{0};
  std::chrono::milliseconds longest{0};
};
struct HttpDone {};
using HttpStep = std::variant<HttpRequest, HttpWait, HttpPause, HttpDone>;

// A dialogue of requests that depend on one another, without I/O of its own: it is asked for its
// next step at the start, after each response, and again while it waits.
class HttpConversation {
 public:
  virtual ~HttpConversation() = default;
  virtual HttpStep begin() = 0;
  virtual HttpStep on_response(const HttpResponse& response) = 0;
  // Called after a HttpWait, whenever any other conversation has advanced, and after a HttpPause.
  virtual HttpStep resume() { return HttpDone{}; }
};

// Sends requests, each to the URL that it names: redirects are answers, not followed.
class Http {
 public:
  virtual ~Http() = default;
  // Drives all conversations to their end, side by side in one event loop. Throws `interrupted`.
  virtual void run(std::span<HttpConversation* const> conversations) = 0;

  HttpResponse send(const HttpRequest& request);
};

}  // namespace sparkrun::sys
