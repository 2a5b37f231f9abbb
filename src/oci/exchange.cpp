// SPDX-License-Identifier: MIT
#include "oci/exchange.hpp"

#include "base/error.hpp"
#include "base/secret.hpp"
#include "base/text.hpp"
#include "oci/url.hpp"
#include "sys/address.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>

namespace sparkrun::oci {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds first_pause{250};
constexpr int pause_growth = 4;
constexpr milliseconds told_from{1'000};  // shorter waits are not worth a word
// A download that has come so much further since the last try has not failed three times in a row.
constexpr long long progress_bytes_min = 1LL << 20;

// `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110, 5.6.7).
std::optional<seconds> parse_http_date(const std::string& text) {
  std::tm parts{};
  const char* const end = strptime(text.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
  if (end == nullptr || *end != '\0') return std::nullopt;
  return seconds{timegm(&parts)};
}

bool is_redirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

std::string host_of(const std::string& url) { return std::string{authority_of(origin_of(url))}; }

// A URL for a message: its path may hold a signature, its authority a password.
std::string shown(const std::string& url) { return redact(one_line(origin_of(url))); }

bool is_private_host(const std::string& host) {
  return is_loopback(host) || (sys::is_address(host) && !sys::is_public_address(host));
}

sys::HttpResponse redirect_fault(const sys::HttpResponse& response, const std::string& why) {
  return {
      .fault = sys::HttpFault::redirect, .fault_text = why, .peer_address = response.peer_address};
}

}  // namespace

std::optional<seconds> retry_after(const sys::HttpResponse& response) {
  const std::string text{trim(response.header("Retry-After").value_or(""))};
  constexpr seconds longest = std::chrono::days{3650};
  const bool is_number = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  if (is_number && !parse_number(text)) return longest;  // it does not even fit
  if (const auto number = parse_number(text))
    return seconds{std::min<long long>(*number, longest.count())};
  const auto until = parse_http_date(text);
  const auto now = parse_http_date(std::string{trim(response.header("Date").value_or(""))});
  if (!until || !now) return std::nullopt;
  return std::clamp(*until - *now, seconds{0}, longest);
}

bool is_passing(const sys::HttpResponse& response) {
  switch (response.fault) {
    case sys::HttpFault::resolve:
    case sys::HttpFault::connect:
    case sys::HttpFault::timeout:
    case sys::HttpFault::protocol:
      return true;
    case sys::HttpFault::tls:
    case sys::HttpFault::untrusted:
    case sys::HttpFault::too_large:
    case sys::HttpFault::redirect:
    case sys::HttpFault::private_address:
    case sys::HttpFault::stopped:
      return false;
    case sys::HttpFault::none:
      break;
  }
  const int status = response.status;
  const bool is_for_good = status == 501 || status == 505;
  return status == 408 || status == 429 || (status >= 500 && !is_for_good);
}

Exchange::Exchange(const RegistryOptions& options, Certificates& certificates)
    : options_(options), certificates_(certificates) {}

void Exchange::go_to(std::string registry, std::string origin) {
  if (origin == origin_) return;
  registry_ = std::move(registry);
  origin_ = std::move(origin);
  is_private_ = is_private_host(host_without_port(authority_of(origin_)));
}

sys::HttpStep Exchange::begin(sys::HttpRequest request, int tries) {
  request_ = std::move(request);
  current_ = request_;
  tries_ = tries;
  tries_left_ = tries;
  tries_done_ = 0;
  redirects_ = 0;
  if (const auto why = objection(current_.url)) {
    throw Error{"registry.failed",
                fmt::format("registry {} sends us to {}, {}", registry_, shown(current_.url), *why),
                {{"registry", registry_}}};
  }
  return send();
}

sys::HttpStep Exchange::send() {
  const Timeouts& timeouts = options_.timeouts;
  const milliseconds left = timeouts.reference - spent_;
  if (left.count() <= 0) {
    throw Error{"registry.timeout",
                fmt::format("registry {} did not answer within {} s in all", registry_,
                            std::chrono::ceil<seconds>(timeouts.reference).count()),
                {{"registry", registry_}}};
  }
  ++requests_;
  --tries_left_;
  ++tries_done_;
  current_.limits.connect_timeout = std::min(timeouts.connect, left);
  current_.limits.silence_timeout = timeouts.first_byte;
  current_.limits.total_timeout = std::min(timeouts.request, left);
  if (current_.sink != nullptr) prepare_stream();
  const std::string origin = origin_of(current_.url);
  current_.is_public_only = origin != origin_of(origin_) && !is_private_;
  if (origin.starts_with("https:")) {
    const bool is_registry = origin == origin_of(origin_);
    const std::string registry{authority_of(origin_)};
    current_.tls =
        certificates_.find(is_registry ? registry : std::string{authority_of(origin)}, registry);
    current_.tls.reads_bundle = reads_bundle_;
  }
  current_.proxy = origin.starts_with("https:") ? options_.proxies.https : options_.proxies.http;
  current_.no_proxy = options_.proxies.none;
  return current_;
}

// A download takes as long as it takes, if only something comes; and goes on where it stopped.
void Exchange::prepare_stream() {
  current_.limits.total_timeout = milliseconds{0};
  offset_ = current_.sink->offset();
  std::erase_if(current_.headers,
                [](const auto& header) { return equal_ignoring_case(header.first, "Range"); });
  if (offset_ > 0) current_.headers.emplace_back("Range", fmt::format("bytes={}-", offset_));
}

void Exchange::count_time(const sys::HttpResponse& response) {
  if (current_.sink == nullptr) {
    spent_ += response.elapsed;
  } else if (current_.sink->offset() - offset_ >= progress_bytes_min) {
    tries_left_ = tries_;
    tries_done_ = 1;
    spent_ = milliseconds{0};
  }
}

// A download is begun again at the registry: where it led to may be signed for some minutes only.
sys::HttpStep Exchange::resume() {
  if (request_.sink != nullptr) {
    current_ = request_;
    redirects_ = 0;
  }
  return send();
}

std::variant<sys::HttpStep, sys::HttpResponse> Exchange::on_response(
    const sys::HttpResponse& response, bool is_last_try) {
  count_time(response);
  if (!response.peer_address.empty() && origin_of(current_.url) == origin_of(origin_)) {
    is_private_ = !sys::is_public_address(response.peer_address);
  }
  if (response.fault == sys::HttpFault::untrusted && !reads_bundle_) {
    reads_bundle_ = true;
    ++tries_left_;
    --tries_done_;
    --requests_;
    return send();
  }
  if (is_last_try) return response;
  if (may_be_followed(response)) return follow(response);
  if (const auto pause = pause_before_retry(response)) {
    spent_ += pause->longest;
    tell(response, pause->longest);
    return sys::HttpStep{*pause};
  }
  return response;
}

// What was posted may hold a secret, which a redirect would carry anywhere.
bool Exchange::may_be_followed(const sys::HttpResponse& response) const {
  return is_redirect(response.status) && request_.method != "POST" &&
         response.header("Location").has_value();
}

std::optional<std::string> Exchange::objection(const std::string& url) const {
  const std::string origin = origin_of(url);
  const std::string authority{authority_of(origin)};
  if (!origin.starts_with("https://") && !origin.starts_with("http://")) {
    return "which is not an http URL";
  }
  if (authority.empty() || authority.find('@') != std::string::npos) {
    return "which names no plain host";
  }
  if (origin_.starts_with("https:") && origin.starts_with("http:")) return "which is without TLS";
  const bool is_elsewhere = origin != origin_of(origin_);
  if (is_elsewhere && !is_private_ && is_private_host(host_without_port(authority))) {
    return "a private address";
  }
  return std::nullopt;
}

std::variant<sys::HttpStep, sys::HttpResponse> Exchange::follow(const sys::HttpResponse& response) {
  const std::string target = resolve_url(current_.url, trim(*response.header("Location")));
  if (++redirects_ > redirects_max) {
    return redirect_fault(response, fmt::format("more than {} redirects", redirects_max));
  }
  if (origin_of(current_.url).starts_with("https:") && !origin_of(target).starts_with("https:")) {
    return redirect_fault(response, fmt::format("to {}, which is without TLS", shown(target)));
  }
  if (const auto why = objection(target)) {
    return redirect_fault(response, fmt::format("to {}, {}", shown(target), *why));
  }
  current_.url = target;
  current_.headers = request_.headers;
  if (origin_of(target) != origin_of(request_.url)) {
    std::erase_if(current_.headers, [](const auto& header) {
      return equal_ignoring_case(header.first, "Authorization");
    });
  }
  ++tries_left_;
  --tries_done_;
  return send();
}

std::optional<sys::HttpPause> Exchange::pause_before_retry(const sys::HttpResponse& response) {
  if (!is_passing(response) || tries_left_ <= 0) return std::nullopt;
  sys::HttpPause pause;
  if (const auto wanted = retry_after(response)) {
    if (*wanted > retry_after_max) return std::nullopt;
    pause = {*wanted, *wanted};
  } else {
    milliseconds middle = first_pause;
    for (int i = 1; i < tries_done_; ++i) middle *= pause_growth;
    pause = {middle / 2, middle * 3 / 2};
  }
  if (spent_ + pause.longest >= options_.timeouts.reference) return std::nullopt;
  return pause;
}

void Exchange::tell(const sys::HttpResponse& response, milliseconds pause) const {
  if (!options_.notice || pause < told_from) return;
  const std::string what = response.fault == sys::HttpFault::none
                               ? fmt::format("HTTP {}", response.status)
                               : printable(response.fault_text);
  options_.notice(fmt::format("{}: {}; trying again in {:.0f} s", host_of(current_.url), what,
                              std::ceil(static_cast<double>(pause.count()) / 1000)));
}

}  // namespace sparkrun::oci
