// SPDX-License-Identifier: MIT
#include "sys/http.hpp"

#include "base/text.hpp"

#include <array>

namespace sparkrun::sys {
namespace {

class OneRequest final : public HttpConversation {
 public:
  explicit OneRequest(const HttpRequest& request) : request_(request) {}
  HttpStep begin() override { return request_; }
  HttpStep on_response(const HttpResponse& response) override {
    response_ = response;
    return HttpDone{};
  }
  [[nodiscard]] const HttpResponse& response() const { return response_; }

 private:
  const HttpRequest& request_;
  HttpResponse response_;
};

}  // namespace

std::optional<std::string> HttpResponse::header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (equal_ignoring_case(key, name)) return value;
  }
  return std::nullopt;
}

std::vector<std::string> HttpResponse::all_headers(std::string_view name) const {
  std::vector<std::string> values;
  for (const auto& [key, value] : headers) {
    if (equal_ignoring_case(key, name)) values.push_back(value);
  }
  return values;
}

std::optional<long long> HttpResponse::range_start() const {
  const std::string range = header("Content-Range").value_or("");
  const auto [unit, numbers] = split_once(trim(range), ' ');
  if (!equal_ignoring_case(unit, "bytes")) return std::nullopt;
  return parse_number(split_once(numbers, '-').first);
}

HttpResponse Http::send(const HttpRequest& request) {
  OneRequest conversation{request};
  const std::array<HttpConversation*, 1> all = {&conversation};
  run(all);
  return conversation.response();
}

}  // namespace sparkrun::sys
