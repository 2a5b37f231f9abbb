// SPDX-License-Identifier: MIT
#include "plan/trust.hpp"

#include "base/csv.hpp"
#include "base/error.hpp"
#include "base/secret.hpp"
#include "base/text.hpp"
#include "plan/paths.hpp"
#include "plan/places.hpp"
#include "profile/values.hpp"
#include "profile/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

namespace sparkrun::plan {
namespace {

constexpr std::array names = std::to_array<TrustName>({
    {"credentials",
     "uses a folder, a file or a secret that holds credentials, such as ~/.ssh, ~/.aws or "
     "~/.docker"},
    {"docker-socket", "reaches the socket of a container engine, and so everything on the host"},
    {"home", "mounts a whole home folder, a folder that holds one, or something of another user's"},
    {"host-env",
     "reads variables or files of the host (env_from_host, env_from_file, -e NAME, env files)"},
    {"host-pid", "sees and signals the processes of the host (pid = \"host\")"},
    {"host-root",
     "reaches the host's root folder or one of its system folders, such as /etc, or a place that "
     "cannot be told"},
    {"host-userns", "switches user namespace remapping off (userns = \"host\")"},
    {"other-container", "shares processes, users, network or files of another container"},
    {"privileged", "has all capabilities and all devices of the host"},
    {"raw-device", "opens a device of the host, other than GPUs and InfiniBand"},
    {"startup-files", "mounts files that your shell or desktop runs, such as ~/.bashrc"},
    {"sys-admin",
     "has a capability that amounts to root on the host: ALL, SYS_ADMIN, SYS_MODULE, ..."},
    {"unconfined", "loosens seccomp, AppArmor, SELinux or other security options"},
    {"unknown-option",
     "passes an option to the engine that sparkrun does not know or cannot judge"},
});
static_assert(std::ranges::is_sorted(names, {}, &TrustName::name));

constexpr std::string_view capabilities_of_root =
    "ALL SYS_ADMIN SYS_MODULE SYS_RAWIO SYS_BOOT DAC_READ_SEARCH BPF MAC_ADMIN";

constexpr std::string_view harmless_devices = "/dev/nvidia /dev/infiniband /dev/dri/ /dev/dri";

// OCI runtimes that containers have anyway, by the names that engines know them by.
constexpr std::string_view usual_runtimes = "nvidia runc crun io.containerd.runc.v2";

// Keys of --mount that say no more than -v can.
constexpr std::string_view plain_mount_keys =
    "type source src target dst destination readonly ro rw bind-propagation "
    "bind-nonrecursive bind-recursive consistency volume-nocopy volume-subpath tmpfs-size "
    "tmpfs-mode z relabel u chown";
// What -v may say behind the target and mean no more than how the folder is mounted.
constexpr std::string_view plain_volume_options =
    "ro rw z Z shared rshared slave rslave private rprivate nocopy copy cached delegated "
    "consistent exec noexec dev nodev suid nosuid bind rbind";

// Settings of the logs that stay where the engine keeps them.
constexpr std::string_view plain_log_options =
    "max-size max-file compress size tag labels labels-regex env env-regex mode "
    "max-buffer-size";

constexpr std::string_view plain_mount_types = "bind volume tmpfs";

// Variables that say where things are, and hold nothing that is not to be seen.
constexpr std::string_view place_variables =
    "HOME PWD USER LOGNAME TMPDIR SCRATCH WORK DATA HF_HOME HF_HUB_CACHE XDG_CACHE_HOME "
    "XDG_DATA_HOME TORCH_HOME CI_PROJECT_DIR GITHUB_WORKSPACE";

constexpr std::string_view harmless_security_options =
    "no-new-privileges no-new-privileges=true no-new-privileges:true seccomp=builtin "
    "apparmor=docker-default";

// VENDOR/CLASS=DEVICE (CDI SPEC.md), such as nvidia.com/gpu=0; with another slash it is a path.
bool is_cdi_name(std::string_view text) {
  const auto [kind, device] = split_once(text, '=');
  return !device.empty() && device.find_first_of("/.") == std::string_view::npos &&
         std::ranges::count(kind, '/') == 1 && !kind.starts_with('/') && !kind.starts_with('.') &&
         split_once(kind, '/').first.find('.') != std::string_view::npos;
}

// Plain names of groups of devices: /dev/nvidia0 is one of /dev/nvidia.
bool is_harmless_device(std::string_view value) {
  const std::string_view path = value.substr(0, value.find(':'));
  if (value.find(',') != std::string_view::npos) return false;
  if (is_cdi_name(value)) return true;
  const std::string normal = fs::path{path}.lexically_normal().string();
  if (normal == "/dev/null" || normal == "/dev/zero") return true;
  return std::ranges::any_of(split(harmless_devices, ' '),
                             [&](std::string_view prefix) { return normal.starts_with(prefix); });
}

// The fields of a --mount, with their keys in the one case that docker makes of them.
std::optional<std::vector<std::pair<std::string, std::string>>> mount_fields(
    std::string_view text) {
  const auto record = parse_csv_record(text);
  if (!record) return std::nullopt;
  std::vector<std::pair<std::string, std::string>> fields;
  for (const std::string& field : *record) {
    const auto [key, value] = split_once(field, '=');
    fields.emplace_back(to_lower(key), value);
  }
  return fields;
}

// The paths that --volume or --mount bring into the container, as they are written.
std::vector<std::string> mounted_sources(std::string_view flag, const std::string& value) {
  std::vector<std::string> sources;
  if (flag == "--volume") {
    const auto [source, target] = split_once(value, ':');
    if (!target.empty() && !profile::is_volume_name(source)) sources.emplace_back(source);
  }
  const auto fields = flag == "--mount" ? mount_fields(value) : std::nullopt;
  if (!fields) return sources;
  // A bind's source is a path also where it could be a volume's name.
  const bool is_bind = std::ranges::any_of(*fields, [](const auto& field) {
    return field.first == "type" && to_lower(field.second) == "bind";
  });
  for (const auto& [key, text] : *fields) {
    const bool is_source = key == "source" || key == "src";
    if (is_source && (is_bind || !profile::is_volume_name(text))) sources.push_back(text);
  }
  return sources;
}

class Judge {
 public:
  Judge(const RunPlan& plan, const PlanFacts& facts) : plan_(plan), facts_(facts) {}

  // Whoever wrote the profile: a checkout must not lead its relative paths out of itself.
  std::vector<TrustNeed> judge_links() {
    const profile::Profile& profile = plan_.profile;
    for (const profile::Mount& mount : profile.mounts) {
      if (is_mounted(mount)) judge_path_of_project(mount.source, "mount");
    }
    for (const auto& [name, path] : profile.env_from_file) {
      judge_path_of_project(path, "env_from_file");
    }
    for (const profile::OptionValue& value : profile.container) {
      const std::string where = fmt::format("container.{}", value.option->key);
      for (const std::string& item : value.values) {
        if (value.option->flag == "--env-file")
          judge_path_of_project(item, where);
        else
          judge_links_of_option(*value.option, item, where);
      }
    }
    for (const profile::Word& word : profile::read_words(profile.extra_args).options) {
      if (word.option && word.value)
        judge_links_of_option(*word.option, *word.value, "container.extra_args");
    }
    return std::move(needs_);
  }

  std::vector<TrustNeed> judge() {
    const profile::Profile& profile = plan_.profile;
    for (const profile::OptionValue& value : profile.container) judge_container(value);
    judge_words(profile.extra_args);
    for (const ResolvedMount& mount : plan_.mounts) {
      if (!mount.is_from_profile) continue;
      if (!mount.is_volume) judge_source(mount.source, "mount");
      for (const std::string& option : mount.options) judge_volume_option(option, "mount");
    }
    for (const profile::Mount& mount : profile.mounts) judge_variables(mount.source);
    for (const profile::HostVariable& variable : profile.env_from_host) {
      need("host-env", "env_from_host", variable.name);
    }
    for (const auto& [name, path] : profile.env_from_file) {
      need("host-env", "env_from_file", name + "=" + path);
      judge_variables(path);
    }
    for (const auto& [name, path] : plan_.file_variables) judge_source(path, "env_from_file");
    return std::move(needs_);
  }

 private:
  void need(std::string_view name, std::string_view where, std::string_view value) {
    if (!seen_.emplace(name, where, value).second) return;
    needs_.push_back({std::string{name}, std::string{where}, std::string{value}});
  }

  void judge_container(const profile::OptionValue& value) {
    const std::string where = fmt::format("container.{}", value.option->key);
    if (value.values.empty()) judge_option(*value.option, "true", where);
    for (const std::string& item : value.values) judge_option(*value.option, item, where);
  }

  void judge_words(const std::vector<std::string>& words) {
    constexpr std::string_view where = "container.extra_args";
    const profile::ReadWords read = profile::read_words(words);
    for (const profile::Word& word : read.options) {
      if (word.option == nullptr)
        need("unknown-option", where, word.flag);
      else if (word.option->arity != profile::Arity::flag)
        judge_option(*word.option, word.value.value_or(""), where);
      else if (word.is_on())
        judge_option(*word.option, "true", where);
    }
    // The profile reader lets no such words in; if one came, nobody knows what follows it.
    if (read.end < words.size()) need("unknown-option", where, words[read.end]);
  }

  void judge_option(const profile::Option& option, const std::string& value,
                    std::string_view where) {
    const std::string_view flag = option.flag;
    // docker takes `name=container:x` for a network as well.
    const std::string_view joined =
        value.starts_with("name=") ? std::string_view{value}.substr(5) : std::string_view{value};
    const bool joins_container =
        joined.starts_with("container:") || joined.starts_with("ns:") ||
        (flag == "--network" && joined.find("=container:") != std::string_view::npos);
    for (const std::string& source : mounted_sources(flag, value)) judge_source(source, where);
    if (flag == "--volume") return judge_volume_options(value, where);
    if (flag == "--mount") return judge_mount_keys(value, where);
    if (joins_container) return need("other-container", where, value);
    if (!option.risk.empty() && is_risky(flag, value)) need(option.risk, where, value);
  }

  static bool is_root_capability(std::string_view text) {
    std::string name = to_upper(trim(text));
    if (name.starts_with("CAP_")) name.erase(0, 4);
    return lists_word(capabilities_of_root, name);
  }

  static bool is_risky(std::string_view flag, const std::string& value) {
    if (flag == "--pid" || flag == "--userns") return value == "host";
    if (flag == "--network" || flag == "--ipc" || flag == "--uts" || flag == "--cgroupns")
      return false;  // but for another container's, which was judged before
    if (flag == "--cap-add") return std::ranges::any_of(split(value, ','), is_root_capability);
    if (flag == "--device") return !is_harmless_device(value);
    if (flag == "--log-opt")
      return !lists_word(plain_log_options, to_lower(split_once(value, '=').first));
    if (flag == "--runtime") return !lists_word(usual_runtimes, value);
    if (flag == "--volume-driver") return value != "local";
    if (flag == "--security-opt") {
      return !lists_word(harmless_security_options, value);
    }
    if (flag == "--env") return value.find('=') == std::string::npos;  // by name: from the host
    return true;
  }

  void judge_volume_options(std::string_view value, std::string_view where) {
    const auto parts = split(value, ':');
    if (parts.size() < 3) return;
    for (const std::string_view option : split(parts[2], ',')) judge_volume_option(option, where);
  }

  void judge_volume_option(std::string_view option, std::string_view where) {
    if (!option.empty() && !lists_word(plain_volume_options, option))
      need("unknown-option", where, option);
  }

  // What a volume's driver makes of its options nobody can tell.
  void judge_mount_keys(const std::string& value, std::string_view where) {
    const auto fields = mount_fields(value);
    const bool is_plain =
        fields && std::ranges::all_of(*fields, [](const auto& field) {
          return lists_word(plain_mount_keys, field.first) &&
                 (field.first != "type" || lists_word(plain_mount_types, to_lower(field.second)));
        });
    if (!is_plain) need("unknown-option", where, value);
  }

  // Not a volume, and not replaced by a mount of the caller's.
  [[nodiscard]] bool is_mounted(const profile::Mount& mount) const {
    return std::ranges::any_of(plan_.mounts, [&](const ResolvedMount& one) {
      return one.is_from_profile && !one.is_volume && one.target == mount.target;
    });
  }

  // A path that is sought from the project's root, unless it says where it starts.
  void judge_path_of_project(const std::string& written, std::string_view where) {
    if (written.empty() || written.find_first_of("/~$") == 0) return;
    judge_link(expand_path(written, facts_.project_root, facts_).path, where);
  }

  // Paths that the engine or its client gets as they are written.
  void judge_links_of_option(const profile::Option& option, const std::string& value,
                             std::string_view where) {
    std::vector<std::string> paths = mounted_sources(option.flag, value);
    if (option.flag == "--env-file" || option.flag == "--label-file") paths.push_back(value);
    for (const std::string& path : paths) {
      if (!path.starts_with('/')) judge_link(path, where);
    }
  }

  void judge_link(const std::string& path, std::string_view where) {
    const fs::path written = plain_path(facts_.working_directory / path);
    const auto real = facts_.real_path(written);
    const fs::path project =
        plain_path(facts_.real_path(facts_.project_root).value_or(facts_.project_root));
    const bool stays =
        real && (is_within(plain_path(*real), project) || plain_path(*real) == written);
    if (!stays) judge_source(path, where);
  }

  void judge_source(const std::string& source, std::string_view where) {
    const fs::path written = plain_path(facts_.working_directory / source);
    const auto real = facts_.real_path(written);
    if (!real) return need("host-root", where, source);
    for (const fs::path& path : {written, plain_path(*real)}) {
      const std::string_view name = risk_of_place(path, facts_);
      if (!name.empty()) return need(name, where, source);
    }
  }

  // A value in the name of a folder would reach the container with its mount table, and variables
  // such as SSH_AUTH_SOCK lead to what they guard.
  void judge_variables(std::string_view source) {
    for (size_t at = source.find("${"); at != std::string_view::npos;
         at = source.find("${", at + 2)) {
      const std::string_view name = source.substr(at + 2, source.find('}', at) - at - 2);
      if (!lists_word(place_variables, name)) need("host-env", "mount", name);
    }
  }

  const RunPlan& plan_;
  const PlanFacts& facts_;
  std::vector<TrustNeed> needs_;
  std::set<std::tuple<std::string, std::string, std::string>> seen_;
};

bool is_allowed(const TrustNeed& need, const std::vector<std::string>& allowed) {
  return std::ranges::any_of(allowed, [&](const std::string& text) {
    return text == need.name || text == need.name + ":" + need.value;
  });
}

}  // namespace

std::span<const TrustName> trust_names() { return names; }

bool is_trust_name(std::string_view text) {
  return std::ranges::find(names, text, &TrustName::name) != names.end();
}

std::vector<TrustNeed> trust_needs(const RunPlan& plan, const PlanFacts& facts) {
  if (plan.profile.origin != profile::Origin::project) return Judge{plan, facts}.judge_links();
  return Judge{plan, facts}.judge();
}

void require_trust(const std::vector<TrustNeed>& needs, const std::vector<std::string>& allowed) {
  std::vector<std::string> problems;
  std::set<std::string> missing;
  for (const TrustNeed& need : needs) {
    if (is_allowed(need, allowed)) continue;
    problems.push_back(
        fmt::format("{}: {} asks for `{}`", need.name, need.where, printable(need.value)));
    missing.insert(need.name);
  }
  if (problems.empty()) return;
  std::vector<std::string> flags;
  for (const std::string& name : missing) flags.push_back("--allow " + name);
  throw Error{"trust.not_allowed",
              fmt::format("this project's profile asks for {}, which you have not allowed",
                          fmt::join(missing, ", ")),
              {{"allow", fmt::format("`{}`", join(flags, " "))},
               {"names", join({missing.begin(), missing.end()}, ",")}},
              problems};
}

}  // namespace sparkrun::plan
