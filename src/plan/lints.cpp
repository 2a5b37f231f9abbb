// SPDX-License-Identifier: MIT
#include "plan/lints.hpp"

#include "base/error.hpp"
#include "oci/reference.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sparkrun::plan {
namespace {

constexpr std::string_view deprecated_variable = "HF_HUB_ENABLE_HF_TRANSFER";

bool has_value(const RunPlan& plan, std::string_view key, std::string_view value) {
  const profile::OptionValue* const found = plan.find(key);
  return found && !found->values.empty() && found->values.front() == value;
}

// No tag means `latest`.
bool has_moving_tag(const std::string& image) {
  try {
    const auto reference = oci::Reference::parse(image);
    return !reference.digest() && reference.tag().value_or("latest") == "latest";
  } catch (const Error&) {
    return false;  // an image id
  }
}

bool passes_variable(const RunPlan& plan, std::string_view name) {
  return std::ranges::find(plan.host_variables, name) != plan.host_variables.end() ||
         std::ranges::find(plan.env, name, &std::pair<std::string, std::string>::first) !=
             plan.env.end();
}

}  // namespace

std::vector<std::string> lints(const RunPlan& plan) {
  std::vector<std::string> warnings;
  const auto warn_if = [&](bool is_so, std::string text) {
    if (is_so) warnings.push_back(std::move(text));
  };
  const bool has_restart = plan.find("restart") && !has_value(plan, "restart", "no");
  warn_if(plan.find("shm_size") && has_value(plan, "ipc", "host"),
          "shm_size has no effect with ipc = \"host\": the host's /dev/shm is used");
  warn_if((plan.find("publish") || plan.find("publish_all")) && has_value(plan, "network", "host"),
          "publish has no effect with network = \"host\": the ports are the host's already");
  warn_if(plan.image.pin != "lock" && has_moving_tag(plan.profile.image),
          fmt::format("{} has no tag that stays: a lock would pin it", plan.profile.image));
  warn_if(passes_variable(plan, deprecated_variable),
          fmt::format("{} is deprecated and has no effect: set HF_XET_HIGH_PERFORMANCE",
                      deprecated_variable));
  warn_if(has_restart && plan.find("remove"), "docker refuses `restart` together with `remove`");
  warn_if(
      has_restart && plan.gpu.access != profile::GpuAccess::none,
      "restart: the engine starts the job again on its own, without checks and without a record");
  return warnings;
}

}  // namespace sparkrun::plan
