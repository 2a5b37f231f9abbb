// SPDX-License-Identifier: MIT
#include "preflight/report.hpp"

#include "base/json_value.hpp"

#include <fmt/format.h>

namespace sparkrun::preflight {
namespace {

constexpr long long kib_per_gib = 1024 * 1024;

std::string text_of(const CheckResult& result) {
  if (result.status == Status::pass || result.message.empty()) {
    return std::string{to_string(result.status)};
  }
  return fmt::format("{}: {}", to_string(result.status), result.message);
}

Json detail_of(const Check& check, const CheckResult& result) {
  Json detail = {{"id", check.id},
                 {"status", to_string(result.status)},
                 {"blocking", check.is_blocking},
                 {"message", result.message}};
  if (!result.fix.empty()) detail["fix"] = result.fix;
  return detail;
}

}  // namespace

std::map<std::string, std::string> check_texts(const Report& report) {
  std::map<std::string, std::string> texts;
  for (const auto& [check, result] : report.results) {
    texts.emplace(check->id, text_of(result));
  }
  return texts;
}

Json to_json(const Report& report, const sys::HostFacts& host) {
  Json json = {{"platform", "dgx-spark"}};
  json["checks"] = Json::object();
  for (const auto& [check, result] : report.results) {
    json["checks"][std::string{check->id}] = text_of(result);
  }
  const bool is_known = host.memory_available_kib >= 0;
  json["headroom_gb"] = is_known ? Json(host.memory_available_kib / kib_per_gib) : Json();
  json["verdict"] = report.verdict;
  json["details"] = Json::array();
  for (const auto& [check, result] : report.results) {
    json["details"].push_back(detail_of(*check, result));
  }
  return json;
}

}  // namespace sparkrun::preflight
