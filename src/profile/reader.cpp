// SPDX-License-Identifier: MIT
#include "profile/reader.hpp"

#include "base/error.hpp"
#include "base/secret.hpp"
#include "base/suggest.hpp"
#include "base/text.hpp"
#include "oci/platform.hpp"
#include "oci/reference.hpp"
#include "profile/container_reader.hpp"
#include "profile/readiness_reader.hpp"
#include "profile/section.hpp"
#include "profile/values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace sparkrun::profile {
namespace {

using Kind = TomlNode::Kind;

// Says where a key belongs that stands in the wrong table.
std::string advice(std::string_view key) {
  if (find_by_key(key)) return fmt::format(" (did you mean `{}` in [container]?)", key);
  if (key == "mounts" || key == "volumes") return " (mounts are written [[mount]])";
  return "";
}

// Variables that a container engine's client, the dynamic linker or sudo act on themselves.
bool changes_client(std::string_view name) {
  constexpr std::array names =
      std::to_array<std::string_view>({"PATH", "HOME", "TMPDIR", "ENV", "SHELLOPTS", "HTTP_PROXY",
                                       "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"});
  constexpr std::array prefixes = std::to_array<std::string_view>(
      {"LD_",  "DOCKER_", "CONTAINER", "_CONTAINER", "XDG_",     "SUDO_",     "SSH_",     "SSL_",
       "GO",   "GCONV_",  "GLIBC_",    "BASH",       "DBUS_",    "REGISTRY_", "STORAGE_", "PODMAN_",
       "CNI_", "CDI_",    "NOTIFY_",   "LISTEN_",    "BUILDAH_", "SPARKRUN_"});
  const std::string upper = to_upper(name);  // curl and Go read http_proxy as well
  return std::ranges::find(names, upper) != names.end() ||
         std::ranges::any_of(prefixes,
                             [&](std::string_view prefix) { return upper.starts_with(prefix); });
}

class Reader {
 public:
  explicit Reader(const std::string& source_name) : faults_(source_name) {}

  // Reads all that is there. `is_whole`: nothing will be merged below any more.
  Profile read(const TomlNode& root, bool is_whole) {
    Section section{root, "", faults_};
    read_version(section);
    read_head(section);
    read_lists(section);
    if (const TomlNode* const gpu = section.take("gpu", Kind::table)) read_gpu(*gpu);
    if (const TomlNode* const table = section.take("container", Kind::table)) {
      ContainerFlags flags = read_container(*table, faults_);
      profile_.container = std::move(flags.options);
      profile_.extra_args = std::move(flags.extra_args);
    }
    if (const TomlNode* const mounts = section.take("mount")) read_mounts(*mounts);
    if (const TomlNode* const env = section.take("env", Kind::table)) read_env(*env);
    if (const TomlNode* const table = section.take("env_from_file", Kind::table)) {
      read_env_files(*table);
    }
    if (const TomlNode* const table = section.take("preflight", Kind::table)) {
      read_preflight(*table);
    }
    if (const TomlNode* const table = section.take("ready", Kind::table)) {
      profile_.ready = read_readiness(*table, is_whole, faults_);
    }
    section.refuse_unknown(advice);
    if (is_whole) judge_whole(root);
    faults_.throw_if_any();
    return std::move(profile_);
  }

 private:
  void read_version(Section& section) {
    const auto version = section.integer("version");
    if (section.table().find("version") == nullptr) {
      faults_.add(1, 1, fmt::format("`version = {}` is missing", profile_version));
    } else if (version && *version < 1) {
      faults_.add(*section.table().find("version"),
                  fmt::format("there is no version {}", *version));
    }
  }

  void read_head(Section& section) {
    if (const auto name = section.text("extends"); name && !is_profile_name(*name)) {
      faults_.add(*section.table().find("extends"),
                  fmt::format("`{}` is not a profile name", *name));
    }
    profile_.summary = section.text("summary").value_or("");
    profile_.purpose = one_of(section, "purpose", {"training", "inference", "tool"});
    profile_.engine = one_of(section, "engine", {"docker", "podman"});
    const auto image = section.text("image");
    if (!image) return;
    profile_.image = *image;
    try {
      oci::Reference::parse(*image);
    } catch (const Error& error) {
      faults_.add(*section.table().find("image"), error.what());
    }
  }

  std::string one_of(Section& section, std::string_view key,
                     const std::vector<std::string>& allowed) {
    const auto text = section.text(key);
    if (!text || std::ranges::find(allowed, *text) != allowed.end()) return text.value_or("");
    faults_.add(*section.table().find(key),
                fmt::format("`{}` must be one of {}, not `{}`{}", section.label(key),
                            join(allowed, ", "), *text, did_you_mean(*text, allowed)));
    return "";
  }

  void read_lists(Section& section) {
    profile_.command = section.texts("command", Controls::allow).value_or(profile_.command);
    profile_.fallback = section.texts("fallback").value_or(profile_.fallback);
    for (const std::string& pattern : profile_.fallback) judge_tag(section, pattern);
    if (auto platforms = section.texts("platforms")) {
      profile_.names_platforms = true;
      read_platforms(*section.table().find("platforms"), std::move(*platforms));
    }
    const auto names = section.texts("env_from_host");
    if (names) read_host_variables(*section.table().find("env_from_host"), *names);
  }

  void judge_tag(Section& section, const std::string& pattern) {
    std::string tag = pattern;
    std::ranges::replace_if(
        tag, [](char c) { return c == '*' || c == '?'; }, 'x');
    if (oci::Reference::is_valid_tag(tag)) return;
    faults_.add(*section.table().find("fallback"),
                fmt::format("`{}` is not a tag, also not with * and ? as in a shell", pattern));
  }

  void read_platforms(const TomlNode& node, std::vector<std::string> platforms) {
    if (node.items.empty()) faults_.add(node, "`platforms` is empty; leave it out for linux/arm64");
    for (std::string& platform : platforms) {
      try {
        platform = oci::Platform::parse(platform).to_string();
      } catch (const Error& error) {
        faults_.add(node, error.what());
      }
    }
    profile_.platforms = std::move(platforms);
  }

  void read_host_variables(const TomlNode& node, const std::vector<std::string>& names) {
    for (const std::string& text : names) {
      const bool is_optional = text.ends_with('?');
      const std::string name = text.substr(0, text.size() - (is_optional ? 1 : 0));
      if (!is_variable_name(name)) {
        faults_.add(node,
                    fmt::format("`{}` in `env_from_host` is not the name of a variable{}", text,
                                text.find('=') != std::string::npos ? "; values go to [env]" : ""));
      }
      profile_.env_from_host.push_back({.name = name, .is_required = !is_optional});
    }
  }

  void read_gpu(const TomlNode& table) {
    Section section{table, "gpu", faults_};
    const std::string access =
        one_of(section, "access", {"auto", "runtime+gpus", "runtime", "gpus", "cdi", "none"});
    profile_.gpu.access = parse_gpu_access(access).value_or(profile_.gpu.access);
    profile_.gpu.devices = section.text("devices").value_or(profile_.gpu.devices);
    section.refuse_unknown();
  }

  void read_mounts(const TomlNode& node) {
    if (node.kind != Kind::array) {
      faults_.add(node,
                  fmt::format("mounts are written [[mount]], not as {}", describe(node.kind)));
    }
    for (const TomlNode& item : node.items) {
      if (item.kind == Kind::table) {
        read_mount(item);
      } else {
        faults_.add(item,
                    fmt::format("each [[mount]] must be a table, not {}", describe(item.kind)));
      }
    }
  }

  void read_mount(const TomlNode& table) {
    Section section{table, "mount", faults_};
    Mount mount{.source = section.text("source").value_or(""),
                .target = section.text("target").value_or(""),
                .create = section.boolean("create").value_or(false),
                .read_only = section.boolean("read_only").value_or(false),
                .options = section.texts("options").value_or(std::vector<std::string>{})};
    judge_mount_options(table, mount.options);
    for (const std::string_view key : {"source", "target"}) {
      const TomlNode* const node = table.find(key);
      if (node == nullptr) {
        faults_.add(table, fmt::format("this [[mount]] lacks `{}`", key));
      } else if (node->kind == Kind::string && node->string.empty()) {
        faults_.add(*node, fmt::format("`mount.{}` is empty", key));
      }
    }
    if (!mount.target.empty() && !mount.target.starts_with('/')) {
      faults_.add(*table.find("target"),
                  fmt::format("`mount.target` must be absolute, not `{}`", mount.target));
    }
    if (mount.create && is_volume_name(mount.source)) {
      faults_.add(
          *table.find("source"),
          fmt::format("`{0}` is the name of a volume, which the engine creates; write `./{0}` "
                      "for a folder",
                      mount.source));
    }
    section.refuse_unknown();
    profile_.mounts.push_back(std::move(mount));
  }

  // `-v SOURCE:TARGET:OPTION,...`: a colon or a comma would begin another part.
  void judge_mount_options(const TomlNode& table, const std::vector<std::string>& options) {
    for (const std::string& option : options) {
      if (option == "ro" || option == "rw" || option == "readonly") {
        faults_.add(*table.find("options"), fmt::format("`{}` in `mount.options` is written "
                                                        "`read_only = {}`",
                                                        option, option != "rw"));
      } else if (option.empty() || option.find_first_of(":, ") != std::string::npos) {
        faults_.add(*table.find("options"),
                    fmt::format("`{}` cannot be one of `mount.options`; they are words such as `z` "
                                "or `rshared`",
                                option));
      }
    }
  }

  void read_env(const TomlNode& table) {
    Section section{table, "env", faults_};
    for (const auto& [name, node] : table.entries) {
      const std::string label = section.label(name);
      // Programs take other names than a shell does: `my.option`.
      if (!is_plain_name(name)) {
        faults_.add(node, fmt::format("`{}` is not the name of a variable", name));
      } else if (node.kind == Kind::string && is_secret(name, node.string)) {
        faults_.add(node,
                    fmt::format("`{}` looks like a secret; keep it in your environment and write "
                                "`env_from_host = [\"{}\"]`",
                                label, name));
      } else if (const auto value = section.checked_text(node, label, Controls::allow)) {
        profile_.env.emplace_back(name, *value);
      }
    }
  }

  void read_env_files(const TomlNode& table) {
    Section section{table, "env_from_file", faults_};
    for (const auto& [name, node] : table.entries) {
      const auto path = section.checked_text(node, section.label(name), Controls::refuse);
      if (!is_variable_name(name)) {
        faults_.add(node, fmt::format("`{}` is not the name of a variable", name));
      } else if (changes_client(name)) {
        faults_.add(node, fmt::format("`{}` cannot come from a file: the engine's client, which "
                                      "passes it on, would obey it too",
                                      name));
      } else if (path && path->empty()) {
        faults_.add(node, fmt::format("`{}` is empty; name the file that holds the value",
                                      section.label(name)));
      } else if (path) {
        profile_.env_from_file.emplace_back(name, *path);
      }
    }
  }

  void read_preflight(const TomlNode& table) {
    Section section{table, "preflight", faults_};
    profile_.preflight.min_available_gib = section.integer("min_available_gib");
    if (profile_.preflight.min_available_gib.value_or(0) < 0) {
      faults_.add(*table.find("min_available_gib"), "`preflight.min_available_gib` is negative");
    }
    if (const TomlNode* const packages = section.take("packages", Kind::table)) {
      for (const auto& [name, node] : packages->entries) {
        const std::string label = fmt::format("preflight.packages.{}", name);
        const auto wanted = section.checked_text(node, label, Controls::refuse);
        if (!wanted) continue;
        if (!is_plain_name(name)) {
          faults_.add(node, fmt::format("`{}` is not a package name", name));
        }
        if (wanted->find_first_of("=<>!~") != 0) {
          faults_.add(node, fmt::format("`{}` must be a version with its comparison, such as "
                                        "\"=={}\"",
                                        label, wanted->empty() ? "1.2.3" : *wanted));
        }
        profile_.preflight.packages.emplace(name, *wanted);
      }
    }
    section.refuse_unknown();
  }

  void judge_whole(const TomlNode& root) {
    if (profile_.image.empty() && root.find("image") == nullptr) {
      faults_.add(1, 1, "there is no `image`, neither here nor in what this extends");
    }
    const bool can_be_empty =
        profile_.gpu.access == GpuAccess::runtime || profile_.gpu.access == GpuAccess::none;
    if (profile_.gpu.devices.empty() && !can_be_empty) {
      faults_.add(1, 1, "`gpu.devices` is empty; write \"all\", or `access = \"none\"` for no GPU");
    }
    judge_runtime();
    judge_variables();
  }

  void judge_runtime() {
    const auto runtime =
        std::ranges::find(profile_.container, find_by_key("runtime"), &OptionValue::option);
    const bool has_own = profile_.gpu.access == GpuAccess::cdi ||
                         profile_.gpu.access == GpuAccess::none ||
                         profile_.gpu.access == GpuAccess::gpus;
    if (runtime == profile_.container.end() || has_own) return;
    faults_.add(
        1, 1,
        fmt::format("`container.runtime` and `gpu.access = \"{}\"` both choose a runtime; with a "
                    "runtime of your own write access = \"none\", \"gpus\" or \"cdi\"",
                    to_string(profile_.gpu.access)));
  }

  // Each variable has one source.
  void judge_variables() {
    using NameValue = std::pair<std::string, std::string>;
    const auto has = [](const std::vector<NameValue>& pairs, const std::string& name) {
      return std::ranges::find(pairs, name, &NameValue::first) != pairs.end();
    };
    for (const HostVariable& variable : profile_.env_from_host) {
      if (has(profile_.env, variable.name)) {
        faults_.add(1, 1, fmt::format("`{}` is in [env] and in `env_from_host`", variable.name));
      }
      if (has(profile_.env_from_file, variable.name)) {
        faults_.add(
            1, 1, fmt::format("`{}` is in [env_from_file] and in `env_from_host`", variable.name));
      }
    }
    for (const auto& [name, path] : profile_.env_from_file) {
      if (has(profile_.env, name)) {
        faults_.add(1, 1, fmt::format("`{}` is in [env] and in [env_from_file]", name));
      }
    }
  }

  Faults faults_;
  Profile profile_;
};

// Before anything else: what a newer format means cannot be judged here.
void refuse_newer(const TomlNode& root, const std::string& source_name) {
  const TomlNode* const version = root.find("version");
  if (version == nullptr || version->integer <= profile_version) return;
  throw Error{
      "profile.newer",
      fmt::format("{}:{}:{}: the profile has version {}, this sparkrun reads {}", source_name,
                  version->line, version->column, version->integer, profile_version),
      {{"path", source_name}}};
}

}  // namespace

TomlNode parse_profile(std::string_view text, const std::string& source_name) {
  auto parsed = parse_toml(text);
  if (const auto* const fault = std::get_if<TomlFault>(&parsed)) {
    Faults faults{source_name};
    if (const auto line = find_conflict_marker(text)) {
      faults.add(*line, 1, "git's conflict marker; take one of the two sides");
    } else {
      faults.add(fault->line, fault->column, fault->message);
    }
    faults.throw_if_any();
  }
  TomlNode root = std::get<TomlNode>(std::move(parsed));
  refuse_newer(root, source_name);
  Reader{source_name}.read(root, false);
  return root;
}

std::optional<std::string> extended_name(const TomlNode& root) {
  const TomlNode* const node = root.find("extends");
  return node ? std::optional{node->string} : std::nullopt;
}

TomlNode merge_profiles(const TomlNode& base, const TomlNode& over) {
  if (base.kind != Kind::table || over.kind != Kind::table) return over;
  TomlNode merged = base;
  for (const auto& [key, node] : over.entries) {
    const auto found =
        std::ranges::find(merged.entries, key, &std::pair<std::string, TomlNode>::first);
    if (found == merged.entries.end()) {
      merged.entries.emplace_back(key, node);
    } else {
      found->second = merge_profiles(found->second, node);
    }
  }
  return merged;
}

Profile build_profile(const TomlNode& root, const std::string& source_name) {
  return Reader{source_name}.read(root, true);
}

Profile read_profile(std::string_view text, const std::string& source_name) {
  return build_profile(parse_profile(text, source_name), source_name);
}

}  // namespace sparkrun::profile
