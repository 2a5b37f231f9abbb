// SPDX-License-Identifier: MIT
#include "profile/options.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <array>

namespace sparkrun::profile {
namespace {

using enum Arity;
using enum EngineSet;
constexpr ValueKind text = ValueKind::text;
constexpr ValueKind number = ValueKind::number;
constexpr ValueKind size = ValueKind::size;
constexpr bool probe = true;  // the probe gets it too
constexpr bool job = false;   // only the job gets it
constexpr bool on = true;     // the engine's default

// All of `docker run --help` (28.2) that means something on Linux, and what podman run (4.3) has
// beside it and people use. The order is the one of the command line that people know from NVIDIA's
// documentation: --rm, --ipc, --ulimit first.
constexpr std::array table_of_options = std::to_array<Option>({
    {"detach", "--detach", "-d", flag, both, "", job, text},
    {"name", "--name", "", value, both, "", job, text},
    {"remove", "--rm", "", flag, both, "", job, text},
    {"init", "--init", "", flag, both, "", job, text},
    {"privileged", "--privileged", "", flag, both, "privileged", probe, text},

    {"ipc", "--ipc", "", value, both, "other-container", probe, text},
    {"shm_size", "--shm-size", "", value, both, "", probe, size},
    {"ulimits", "--ulimit", "", table, both, "", probe, text},
    {"pid", "--pid", "", value, both, "host-pid", job, text},
    {"userns", "--userns", "", value, both, "host-userns", probe, text},
    {"uts", "--uts", "", value, both, "other-container", job, text},
    {"cgroupns", "--cgroupns", "", value, both, "other-container", probe, text},
    {"cgroup_parent", "--cgroup-parent", "", value, both, "", job, text},

    {"network", "--network", "--net", value, both, "other-container", job, text},
    {"network_alias", "--network-alias", "--net-alias", list, both, "", job, text},
    {"publish", "--publish", "-p", list, both, "", job, text},
    {"publish_all", "--publish-all", "-P", flag, both, "", job, text},
    {"expose", "--expose", "", list, both, "", job, text},
    {"hostname", "--hostname", "-h", value, both, "", job, text},
    {"domainname", "--domainname", "", value, docker, "", job, text},
    {"add_host", "--add-host", "", list, both, "", job, text},
    {"dns", "--dns", "", list, both, "", job, text},
    {"dns_option", "--dns-option", "--dns-opt", list, both, "", job, text},
    {"dns_search", "--dns-search", "", list, both, "", job, text},
    {"ip", "--ip", "", value, both, "", job, text},
    {"ip6", "--ip6", "", value, both, "", job, text},
    {"mac_address", "--mac-address", "", value, both, "", job, text},
    {"link", "--link", "", list, docker, "other-container", job, text},
    {"link_local_ip", "--link-local-ip", "", list, docker, "", job, text},

    {"user", "--user", "-u", value, both, "", probe, text},
    {"group_add", "--group-add", "", list, both, "", probe, text},
    {"workdir", "--workdir", "-w", value, both, "", job, text},
    {"entrypoint", "--entrypoint", "", value, both, "", job, text},
    {"cap_add", "--cap-add", "", list, both, "sys-admin", probe, text},
    {"cap_drop", "--cap-drop", "", list, both, "", probe, text},
    {"security_opt", "--security-opt", "", list, both, "unconfined", probe, text},
    {"device", "--device", "", list, both, "raw-device", probe, text},
    {"device_cgroup_rule", "--device-cgroup-rule", "", list, both, "raw-device", probe, text},

    {"memory", "--memory", "-m", value, both, "", probe, size},
    {"memory_swap", "--memory-swap", "", value, both, "", probe, size},
    {"memory_reservation", "--memory-reservation", "", value, both, "", probe, size},
    {"memory_swappiness", "--memory-swappiness", "", value, both, "", probe, number},
    {"cpus", "--cpus", "", value, both, "", probe, number},
    {"cpu_shares", "--cpu-shares", "-c", value, both, "", probe, number},
    {"cpu_period", "--cpu-period", "", value, both, "", probe, number},
    {"cpu_quota", "--cpu-quota", "", value, both, "", probe, number},
    {"cpu_rt_period", "--cpu-rt-period", "", value, both, "", job, number},
    {"cpu_rt_runtime", "--cpu-rt-runtime", "", value, both, "", job, number},
    {"cpuset_cpus", "--cpuset-cpus", "", value, both, "", probe, text},
    {"cpuset_mems", "--cpuset-mems", "", value, both, "", probe, text},
    {"pids_limit", "--pids-limit", "", value, both, "", probe, number},
    {"blkio_weight", "--blkio-weight", "", value, both, "", job, number},
    {"blkio_weight_device", "--blkio-weight-device", "", list, both, "", job, text},
    {"device_read_bps", "--device-read-bps", "", list, both, "", job, text},
    {"device_read_iops", "--device-read-iops", "", list, both, "", job, text},
    {"device_write_bps", "--device-write-bps", "", list, both, "", job, text},
    {"device_write_iops", "--device-write-iops", "", list, both, "", job, text},
    {"oom_kill_disable", "--oom-kill-disable", "", flag, both, "", job, text},
    {"oom_score_adj", "--oom-score-adj", "", value, both, "", job, number},
    {"sysctls", "--sysctl", "", table, both, "", job, text},

    {"read_only", "--read-only", "", flag, both, "", probe, text},
    {"tmpfs", "--tmpfs", "", list, both, "", probe, text},
    {"volumes_from", "--volumes-from", "", list, both, "other-container", job, text},
    {"volume_driver", "--volume-driver", "", value, docker, "unknown-option", job, text},
    {"storage_opts", "--storage-opt", "", table, both, "", job, text},

    {"restart", "--restart", "", value, both, "", job, text},
    {"stop_signal", "--stop-signal", "", value, both, "", job, text},
    {"stop_timeout", "--stop-timeout", "", value, both, "", job, number},
    {"health_cmd", "--health-cmd", "", value, both, "", job, text},
    {"health_interval", "--health-interval", "", value, both, "", job, text},
    {"health_retries", "--health-retries", "", value, both, "", job, number},
    {"health_start_interval", "--health-start-interval", "", value, docker, "", job, text},
    {"health_start_period", "--health-start-period", "", value, both, "", job, text},
    {"health_timeout", "--health-timeout", "", value, both, "", job, text},
    {"no_healthcheck", "--no-healthcheck", "", flag, both, "", job, text},

    {"labels", "--label", "-l", table, both, "", job, text},
    {"label_file", "--label-file", "", list, both, "host-env", job, text},
    {"annotations", "--annotation", "", table, both, "unknown-option", job, text},
    {"log_driver", "--log-driver", "", value, both, "", job, text},
    {"log_opts", "--log-opt", "", table, both, "unknown-option", job, text},
    {"env_file", "--env-file", "", list, both, "host-env", probe, text},
    {"pull", "--pull", "", value, both, "", job, text},
    {"isolation", "--isolation", "", value, docker, "", job, text},
    {"use_api_socket", "--use-api-socket", "", flag, docker, "docker-socket", job, text},
    {"runtime", "--runtime", "", value, both, "unknown-option", probe, text},

    {"attach", "--attach", "-a", list, both, "", job, text},
    {"detach_keys", "--detach-keys", "", value, both, "", job, text},
    {"sig_proxy", "--sig-proxy", "", flag, both, "", job, text, on},

    {"replace", "--replace", "", flag, podman, "other-container", job, text},
    {"rmi", "--rmi", "", flag, podman, "", job, text},
    {"pod", "--pod", "", value, podman, "other-container", job, text},
    {"requires", "--requires", "", list, podman, "", job, text},
    {"secret", "--secret", "", list, podman, "credentials", job, text},
    {"systemd", "--systemd", "", value, podman, "", job, text},
    {"sdnotify", "--sdnotify", "", value, podman, "", job, text},
    {"timeout", "--timeout", "", value, podman, "", job, number},
    {"tz", "--tz", "", value, podman, "", job, text},
    {"umask", "--umask", "", value, podman, "", probe, text},
    {"uidmap", "--uidmap", "", list, podman, "", probe, text},
    {"gidmap", "--gidmap", "", list, podman, "", probe, text},
    {"env_host", "--env-host", "", flag, podman, "host-env", job, text},
    {"unsetenv", "--unsetenv", "", list, podman, "", probe, text},
    {"unsetenv_all", "--unsetenv-all", "", flag, podman, "", probe, text},
    {"http_proxy", "--http-proxy", "", flag, podman, "", job, text, on},
    {"no_hosts", "--no-hosts", "", flag, podman, "", job, text},
    {"passwd", "--passwd", "", flag, podman, "", probe, text, on},
    {"image_volume", "--image-volume", "", value, podman, "", job, text},
    {"read_only_tmpfs", "--read-only-tmpfs", "", flag, podman, "", probe, text, on},
    {"health_on_failure", "--health-on-failure", "", value, podman, "", job, text},
    {"cgroups", "--cgroups", "", value, podman, "", job, text},

    // Flags with a place of their own in a profile, or that sparkrun writes itself.
    {"", "--gpus", "", value, both, "", probe, text},
    {"", "--volume", "-v", list, both, "", job, text},
    {"", "--mount", "", list, both, "", job, text},
    {"", "--env", "-e", list, both, "host-env", probe, text},
    {"", "--platform", "", value, both, "", job, text},
    {"", "--arch", "", value, podman, "", job, text},
    {"", "--os", "", value, podman, "", job, text},
    {"", "--interactive", "-i", flag, both, "", job, text},
    {"", "--tty", "-t", flag, both, "", job, text},
    {"", "--cidfile", "", value, both, "", job, text},
    {"", "--disable-content-trust", "", flag, docker, "", job, text, on},
    {"", "--quiet", "-q", flag, both, "", job, text},
    {"", "--help", "", flag, both, "", job, text},
});

consteval bool are_unique(std::string_view Option::*member) {
  for (size_t i = 0; i < table_of_options.size(); ++i) {
    const std::string_view one = table_of_options.at(i).*member;
    for (size_t j = i + 1; j < table_of_options.size(); ++j) {
      if (!one.empty() && one == table_of_options.at(j).*member) return false;
    }
  }
  return true;
}
static_assert(are_unique(&Option::key));
static_assert(are_unique(&Option::flag));
static_assert(are_unique(&Option::aliases));
static_assert(std::ranges::all_of(table_of_options, [](const Option& option) {
  return option.flag.starts_with("--") && option.key.find('-') == std::string_view::npos;
}));

}  // namespace

std::span<const Option> options() { return table_of_options; }

const Option* find_by_key(std::string_view key) {
  const auto found = std::ranges::find(table_of_options, key, &Option::key);
  return key.empty() || found == table_of_options.end() ? nullptr : &*found;
}

const Option* find_by_flag(std::string_view spelling) {
  const auto found = std::ranges::find_if(table_of_options, [&](const Option& option) {
    return option.flag == spelling || lists_word(option.aliases, spelling);
  });
  return found == table_of_options.end() ? nullptr : &*found;
}

}  // namespace sparkrun::profile
