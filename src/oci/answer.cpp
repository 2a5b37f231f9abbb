// SPDX-License-Identifier: MIT
#include "oci/answer.hpp"

#include "base/json_value.hpp"
#include "base/text.hpp"
#include "oci/exchange.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sparkrun::oci {
namespace {

constexpr size_t quoted_errors_max = 3;
constexpr size_t quoted_length_max = 200;

bool is_web_page(const sys::HttpResponse& response) {
  return trim(response.body).starts_with('<') ||
         response.header("Content-Type").value_or("").starts_with("text/html");
}

std::string excerpt(std::string_view text) {
  return one_line(trim(text).substr(0, quoted_length_max));
}

// The texts of an error body: `errors` of the distribution spec ("Error Codes"), or what token
// endpoints send instead.
std::vector<std::string> error_texts(const Json& json) {
  std::vector<std::string> texts;
  const Json& errors = member(json, "errors");
  for (size_t i = 0; errors.is_array() && i < std::min(errors.size(), quoted_errors_max); ++i) {
    const std::string code = string_or(errors[i], "code"), text = string_or(errors[i], "message");
    texts.push_back(code.empty() || text.empty() ? code + text : code + ": " + text);
  }
  for (const std::string_view key : {"error_description", "details", "message", "error"}) {
    if (texts.empty() && member(json, key).is_string()) texts.push_back(string_or(json, key));
  }
  std::erase(texts, "");
  return texts;
}

std::string server_text(const sys::HttpResponse& response) {
  if (is_web_page(response)) return "";
  if (const auto json = parse_json(response.body)) return excerpt(join(error_texts(*json), "; "));
  return excerpt(split_once(response.body, '\n').first);
}

}  // namespace

std::string quote(const sys::HttpResponse& response) {
  const std::string text = server_text(response);
  return fmt::format(" (HTTP {}{}{})", response.status, text.empty() ? "" : ", ", text);
}

Error fault_error(const sys::HttpResponse& response, const Asked& asked) {
  const Error::Details details = {{"registry", asked.registry}};
  const std::string& host = asked.what;
  const auto error = [&](std::string_view id, std::string_view what) {
    return Error{id, fmt::format("{}: {}", what, printable(response.fault_text)), details};
  };
  switch (response.fault) {
    case sys::HttpFault::resolve:
    case sys::HttpFault::connect:
      return error("registry.unreachable", fmt::format("cannot reach {}", host));
    case sys::HttpFault::timeout:
      return error("registry.timeout", fmt::format("{} did not answer in time", host));
    case sys::HttpFault::tls:
    case sys::HttpFault::untrusted:
      return error("registry.tls", fmt::format("no trustworthy connection to {}", host));
    case sys::HttpFault::too_large:
      return error("registry.not_a_registry", fmt::format("{} sends too much", host));
    case sys::HttpFault::redirect:
      return error("registry.failed", fmt::format("{} redirects to where we do not follow", host));
    case sys::HttpFault::private_address:
      return error("registry.failed",
                   fmt::format("{} leads to a private address, where we do not go", host));
    case sys::HttpFault::protocol:
      return error("registry.failed", fmt::format("the answer of {} is broken or cut off", host));
    case sys::HttpFault::stopped:  // whoever stopped it has the reason
    case sys::HttpFault::none:
      break;
  }
  return Error{"bug", fmt::format("an answer of {} is taken for a fault", host)};
}

Error status_error(const sys::HttpResponse& response, const Asked& asked) {
  const auto& [registry, what] = asked;
  Error::Details details = {
      {"registry", registry}, {"status", std::to_string(response.status)}, {"asked", what}};
  std::string when;
  if (const auto wait = retry_after(response)) {
    details.emplace("retry_after_seconds", std::to_string(wait->count()));
    when = fmt::format("; it says to retry after {} s", wait->count());
  }
  const auto error = [&](std::string_view id, const std::string& message) {
    return Error{id, message + quote(response), details};
  };
  if (response.status == 404 && !is_web_page(response)) {
    return error("registry.not_found", fmt::format("registry {} does not have {}", registry, what));
  }
  if (response.status == 401 || response.status == 403) {
    return error("registry.denied", fmt::format("registry {} denies {}", registry, what));
  }
  if (response.status == 429) {
    return error("registry.rate_limited",
                 fmt::format("registry {} allows no more requests now{}", registry, when));
  }
  if (response.status == 404) {
    return error("registry.not_a_registry",
                 fmt::format("{} answers with a web page when asked for {}", registry, what));
  }
  return error("registry.failed",
               fmt::format("registry {} cannot answer for {}{}", registry, what, when));
}

}  // namespace sparkrun::oci
