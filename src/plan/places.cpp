// SPDX-License-Identifier: MIT
#include "plan/places.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <iterator>

namespace sparkrun::plan {
namespace {

// Below the home folder: what a login or a tool that everybody uses runs.
constexpr std::string_view startup_files =
    ".bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv "
    ".zprofile .zlogin .pam_environment .xprofile .xsessionrc .gitconfig .vimrc .emacs "
    ".emacs.d .tmux.conf .local/bin bin .config/autostart .config/systemd "
    ".config/environment.d .config/fish .config/git .config/nvim .local/share/systemd "
    ".local/share/applications .vim .zlogout .oh-my-zsh .local/lib .cargo/bin .ipython "
    ".vscode-server";

constexpr std::string_view system_folders =
    "/bin /boot /dev /etc /lib /lib64 /proc /root /run /sbin /sys /usr /var";

// Places below the system folders where people keep work and scratch data.
constexpr std::string_view work_folders = "/dev/shm /var/tmp";

constexpr std::string_view engine_sockets =
    "docker.sock containerd.sock podman.sock crio.sock buildkitd.sock";

// Below the home folder. ~/.cache/huggingface is not one of them: it is in every second profile,
// and asking each time would teach people to allow without reading.
constexpr std::string_view credential_paths =
    ".ssh .gnupg .aws .azure .kube .docker .ngc .kaggle .netrc .git-credentials .npmrc "
    ".pypirc .password-store .vault-token .config/gcloud .config/gh .config/rclone "
    ".config/containers .config/sparkrun .local/share/keyrings .local/share/containers "
    ".local/state/sparkrun .mozilla .config/chromium .colima .lima .config/google-chrome";

bool overlap(const fs::path& a, const fs::path& b) { return is_within(a, b) || is_within(b, a); }

bool is_within_any(const fs::path& path, std::string_view folders) {
  return std::ranges::any_of(split(folders, ' '),
                             [&](std::string_view folder) { return is_within(path, folder); });
}

fs::path real(const fs::path& path, const PlanFacts& facts) {
  return plain_path(facts.real_path(path).value_or(path));
}

bool holds_engine_socket(const fs::path& path, const PlanFacts& facts) {
  if (lists_word(engine_sockets, path.filename().string()) || is_within("/run/docker.sock", path) ||
      is_within("/var/run/docker.sock", path)) {
    return true;
  }
  constexpr std::string_view scheme = "unix://";
  const auto leads_to = [&](const char* variable) {
    const auto host = facts.variables.find(variable);
    return host != facts.variables.end() && host->second.starts_with(scheme) &&
           is_within(real(host->second.substr(scheme.size()), facts), path);
  };
  return leads_to("DOCKER_HOST") || leads_to("CONTAINER_HOST");
}

// Places in a shared /tmp where agents and terminal multiplexers listen.
bool is_agent_folder(const fs::path& path) {
  if (path == "/tmp") return true;
  if (!is_within(path, "/tmp")) return false;
  const std::string first = (*std::next(path.begin(), 2)).string();
  return first.starts_with("ssh-") || first.starts_with("tmux-") || first.starts_with("gpg-");
}

std::string_view risk_below_home(const fs::path& path, const fs::path& home) {
  const auto overlaps = [&](std::string_view name) { return overlap(path, home / name); };
  if (std::ranges::any_of(split(credential_paths, ' '), overlaps)) return "credentials";
  return std::ranges::any_of(split(startup_files, ' '), overlaps) ? "startup-files" : "";
}

}  // namespace

bool is_within(const fs::path& path, const fs::path& folder) {
  const auto [end, ignored] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  return end == folder.end();
}

fs::path plain_path(const fs::path& path) {
  const fs::path normal = path.lexically_normal();
  return normal.has_filename() || normal == normal.root_path() ? normal : normal.parent_path();
}

std::string_view risk_of_place(const fs::path& path, const PlanFacts& facts) {
  const fs::path home = real(facts.home, facts);
  const fs::path project = real(facts.project_root, facts);
  if (path == "/") return "host-root";
  if (is_within(home, path) || path == "/home" || path.parent_path() == "/home") return "home";
  if (holds_engine_socket(path, facts)) return "docker-socket";
  const auto config = facts.variables.find("XDG_CONFIG_HOME");
  if (config != facts.variables.end() && config->second.starts_with('/') &&
      overlap(path, real(fs::path{config->second} / "sparkrun", facts))) {
    return "credentials";  // it says what is allowed
  }
  const std::string_view risk = risk_below_home(path, home);
  if (!risk.empty()) return risk;
  if (is_agent_folder(path)) return "credentials";
  // Before the system folders: a CI agent's home and checkout may lie below /var, root's home is
  // one.
  if (is_within(path, home) || is_within(path, project)) return "";
  if (is_within(path, "/home")) return "home";
  if (is_within_any(path, work_folders)) return "";
  return is_within_any(path, system_folders) ? "host-root" : "";
}

}  // namespace sparkrun::plan
