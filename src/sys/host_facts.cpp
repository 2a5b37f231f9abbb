// SPDX-License-Identifier: MIT
#include "sys/host_facts.hpp"

#include "base/digest.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "sys/files.hpp"

#include <cstdlib>
#include <pwd.h>
#include <sys/resource.h>
#include <sys/utsname.h>

namespace sparkrun::sys {
namespace {

// The value behind `key` and `separator` in a file of such lines, unquoted.
std::string find_value(std::string_view text, std::string_view key, char separator) {
  for (const std::string_view line : split(text, '\n')) {
    const auto [name, value] = split_once(line, separator);
    if (trim(name) != key) continue;
    std::string_view found = trim(value);
    if (found.size() >= 2 && found.front() == '"' && found.back() == '"') {
      found = found.substr(1, found.size() - 2);
    }
    return std::string{found};
  }
  return {};
}

long long kib(std::string_view meminfo, std::string_view key) {
  const std::string value = find_value(meminfo, key, ':');
  return parse_number(split_once(value, ' ').first).value_or(-1);
}

std::string oci_architecture(std::string_view machine) {
  if (machine == "aarch64") return "arm64";
  if (machine == "x86_64") return "amd64";
  return std::string{machine};
}

// `NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  580.95.05  Release Build ...`
std::string driver_version(std::string_view text) {
  for (const std::string_view word : split(split_once(text, '\n').first, ' ')) {
    if (word.find('.') != std::string_view::npos &&
        word.find_first_not_of("0123456789.") == std::string_view::npos) {
      return std::string{word};
    }
  }
  return {};
}

// Whether the effective capabilities of a /proc/PID/status hold number 24, CAP_SYS_RESOURCE, which
// raises hard limits (capabilities(7)).
bool may_raise_limits(std::string_view status) {
  const std::string effective = find_value(status, "CapEff", ':');
  constexpr unsigned sys_resource = 24;
  return (std::strtoull(effective.c_str(), nullptr, 16) >> sys_resource & 1U) != 0;
}

long long memlock_bytes_max(std::string_view status) {
  rlimit limit{};
  if (may_raise_limits(status) || getrlimit(RLIMIT_MEMLOCK, &limit) != 0) return -1;
  return limit.rlim_max == RLIM_INFINITY ? -1 : static_cast<long long>(limit.rlim_max);
}

}  // namespace

HostFacts read_host_facts(const Environment& environment, const fs::path& root) {
  utsname name{};
  uname(&name);
  const std::string meminfo = read_fact(root / "proc/meminfo");
  HostFacts facts;
  facts.hostname = name.nodename;
  facts.kernel = name.release;
  facts.architecture = oci_architecture(name.machine);
  facts.boot_id = trim(read_fact(root / "proc/sys/kernel/random/boot_id"));
  facts.os = find_value(read_fact(root / "etc/os-release"), "PRETTY_NAME", '=');
  facts.driver = driver_version(read_fact(root / "proc/driver/nvidia/version"));
  facts.memory_total_kib = kib(meminfo, "MemTotal");
  facts.memory_available_kib = kib(meminfo, "MemAvailable");
  const std::string machine_id{trim(read_fact(root / "etc/machine-id"))};
  facts.id = sha256_hex("sparkrun-host:" + machine_id + ":" + facts.hostname).substr(0, 16);
  facts.memlock_bytes_max = memlock_bytes_max(read_fact(root / "proc/self/status"));
  const passwd* const user = getpwuid(environment.uid);
  facts.user = user != nullptr ? user->pw_name : std::to_string(environment.uid);
  return facts;
}

}  // namespace sparkrun::sys
