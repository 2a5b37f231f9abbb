// SPDX-License-Identifier: MIT
#include "plan/trust.hpp"

#include "base/error.hpp"
#include "base/secret.hpp"
#include "base/text.hpp"
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
     "mounts a folder or file that holds credentials, such as ~/.ssh, ~/.aws or ~/.docker"},
    {"docker-socket", "reaches the socket of a container engine, and so everything on the host"},
    {"home", "mounts a whole home folder, or a folder that holds one"},
    {"host-env", "reads variables of the host's environment (env_from_host, -e NAME, env files)"},
    {"host-pid", "sees and signals the processes of the host (pid = \"host\")"},
    {"host-root", "mounts the host's root folder or one of its system folders, such as /etc"},
    {"host-userns", "switches user namespace remapping off (userns = \"host\")"},
    {"other-container", "shares processes, users or files of another container"},
    {"privileged", "has all capabilities and all devices of the host"},
    {"raw-device", "opens a device of the host, other than GPUs and InfiniBand"},
    {"sys-admin",
     "has a capability that amounts to root on the host: ALL, SYS_ADMIN, SYS_MODULE, ..."},
    {"unconfined", "loosens seccomp, AppArmor, SELinux or other security options"},
    {"unknown-option", "passes an option to the engine that sparkrun does not know"},
});
static_assert(std::ranges::is_sorted(names, {}, &TrustName::name));

constexpr std::array capabilities_of_root =
    std::to_array<std::string_view>({"ALL", "SYS_ADMIN", "SYS_MODULE", "SYS_RAWIO", "SYS_BOOT",
                                     "DAC_READ_SEARCH", "BPF", "MAC_ADMIN"});

constexpr std::array harmless_devices = std::to_array<std::string_view>(
    {"/dev/nvidia", "/dev/infiniband", "/dev/dri", "/dev/shm", "/dev/null", "/dev/zero"});

constexpr std::array harmless_security_options = std::to_array<std::string_view>(
    {"no-new-privileges", "no-new-privileges=true", "no-new-privileges:true", "seccomp=builtin",
     "apparmor=docker-default"});

constexpr std::array system_folders =
    std::to_array<std::string_view>({"/bin", "/boot", "/dev", "/etc", "/lib", "/lib64", "/proc",
                                     "/root", "/run", "/sbin", "/sys", "/usr", "/var"});

// Places below the system folders where people keep work and scratch data.
constexpr std::array work_folders = std::to_array<std::string_view>({"/dev/shm", "/var/tmp"});

constexpr std::array engine_sockets = std::to_array<std::string_view>(
    {"docker.sock", "containerd.sock", "podman.sock", "crio.sock", "buildkitd.sock"});

// Below the home folder. ~/.cache/huggingface is not one of them: it is in every second profile,
// and asking each time would teach people to allow without reading.
constexpr std::array credential_paths = std::to_array<std::string_view>({".ssh",
                                                                         ".gnupg",
                                                                         ".aws",
                                                                         ".azure",
                                                                         ".kube",
                                                                         ".docker",
                                                                         ".ngc",
                                                                         ".kaggle",
                                                                         ".netrc",
                                                                         ".git-credentials",
                                                                         ".npmrc",
                                                                         ".pypirc",
                                                                         ".password-store",
                                                                         ".vault-token",
                                                                         ".config/gcloud",
                                                                         ".config/gh",
                                                                         ".config/rclone",
                                                                         ".config/containers",
                                                                         ".config/sparkrun",
                                                                         ".local/share/keyrings",
                                                                         ".local/state/sparkrun",
                                                                         ".mozilla",
                                                                         ".config/google-chrome"});

// `path` is `folder` or lies below it.
bool is_within(const fs::path& path, const fs::path& folder) {
  const auto [end, ignored] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  return end == folder.end();
}

bool is_within_any(const fs::path& path, std::span<const std::string_view> folders) {
  return std::ranges::any_of(folders,
                             [&](std::string_view folder) { return is_within(path, folder); });
}

// Plain names of groups of devices: /dev/nvidia0 is one of /dev/nvidia.
bool is_harmless_device(const std::string& path) {
  // A CDI name, VENDOR/CLASS=DEVICE; as a path it could be a link to any device.
  if (!path.starts_with('/') && path.find('=') != std::string::npos) return true;
  const std::string normal = fs::path{path}.lexically_normal().string();
  return std::ranges::any_of(harmless_devices,
                             [&](std::string_view prefix) { return normal.starts_with(prefix); });
}

class Judge {
 public:
  Judge(const RunPlan& plan, const PlanFacts& facts) : plan_(plan), facts_(facts) {}

  std::vector<TrustNeed> judge() {
    const profile::Profile& profile = plan_.profile;
    for (const profile::OptionValue& value : profile.container) judge_container(value);
    judge_words(profile.extra_args);
    for (const ResolvedMount& mount : plan_.mounts) {
      if (mount.is_from_profile && !mount.is_volume) judge_source(mount.source, "mount");
    }
    for (const profile::Mount& mount : profile.mounts) judge_variables(mount.source);
    for (const profile::HostVariable& variable : profile.env_from_host) {
      need("host-env", "env_from_host", variable.name);
    }
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
    const bool joins_container = value.starts_with("container:");
    if (flag == "--volume") return judge_volume(value, where);
    if (flag == "--mount") return judge_mount(value, where);
    if (joins_container && (flag == "--pid" || flag == "--userns" || flag == "--ipc")) {
      return need("other-container", where, value);
    }
    if (!option.risk.empty() && is_risky(flag, value)) need(option.risk, where, value);
  }

  static bool is_risky(std::string_view flag, const std::string& value) {
    if (flag == "--pid" || flag == "--userns") return value == "host";
    if (flag == "--cap-add") {
      std::string name = to_upper(value);
      if (name.starts_with("CAP_")) name.erase(0, 4);
      return std::ranges::find(capabilities_of_root, name) != capabilities_of_root.end();
    }
    if (flag == "--device") return !is_harmless_device(value.substr(0, value.find(':')));
    if (flag == "--security-opt") {
      return std::ranges::find(harmless_security_options, value) == harmless_security_options.end();
    }
    if (flag == "--env") return value.find('=') == std::string::npos;  // by name: from the host
    return true;
  }

  void judge_volume(const std::string& value, std::string_view where) {
    const std::string source = value.substr(0, value.find(':'));
    const bool is_anonymous = value.find(':') == std::string::npos;
    if (!is_anonymous && !profile::is_volume_name(source)) judge_source(source, where);
  }

  // `type=bind,source=/,target=/host`; a volume may bind a path as well, through its driver's
  // options.
  void judge_mount(const std::string& value, std::string_view where) {
    std::string plain = value;
    std::erase(plain, '"');
    for (const std::string_view field : split(plain, ',')) {
      auto [key, path] = split_once(field, '=');
      if (key == "volume-opt") std::tie(key, path) = split_once(path, '=');
      const bool is_source = key == "source" || key == "src" || key == "device";
      if (is_source && !profile::is_volume_name(path)) judge_source(std::string{path}, where);
    }
  }

  void judge_source(const std::string& source, std::string_view where) {
    const fs::path written = plain(facts_.working_directory / source);
    for (const fs::path& path : {written, plain(facts_.real_path(written))}) {
      const std::string_view name = risk_of_path(path);
      if (!name.empty()) return need(name, where, source);
    }
  }

  // Without `.`, `..` and a slash at the end, which would be a component of its own.
  static fs::path plain(const fs::path& path) {
    const fs::path normal = path.lexically_normal();
    return normal.has_filename() || normal == normal.root_path() ? normal : normal.parent_path();
  }

  [[nodiscard]] std::string_view risk_of_path(const fs::path& path) const {
    const fs::path home = plain(facts_.real_path(facts_.home));
    const fs::path project = plain(facts_.real_path(facts_.project_root));
    if (path == "/") return "host-root";
    const bool is_socket =
        std::ranges::find(engine_sockets, path.filename().string()) != engine_sockets.end();
    if (is_socket || is_within("/run/docker.sock", path) ||
        is_within("/var/run/docker.sock", path)) {
      return "docker-socket";
    }
    if (is_within(home, path) || path == "/home" || path.parent_path() == "/home") return "home";
    for (const std::string_view secret : credential_paths) {
      const fs::path place = home / secret;
      if (is_within(path, place) || is_within(place, path)) return "credentials";
    }
    // Before the system folders: a CI agent's home and checkout may lie below /var, root's home is
    // one.
    if (is_within(path, home) || is_within(path, project)) return "";
    if (is_within_any(path, work_folders)) return "";
    return is_within_any(path, system_folders) ? "host-root" : "";
  }

  // A secret in the name of a folder would reach the container with its mount table.
  void judge_variables(std::string_view source) {
    for (size_t at = source.find("${"); at != std::string_view::npos;
         at = source.find("${", at + 2)) {
      const std::string_view name = source.substr(at + 2, source.find('}', at) - at - 2);
      if (is_secret_name(name)) need("host-env", "mount", name);
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
  if (plan.profile.origin != profile::Origin::project) return {};
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
