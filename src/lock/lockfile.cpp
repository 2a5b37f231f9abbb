// SPDX-License-Identifier: MIT
#include "lock/lockfile.hpp"

#include "base/error.hpp"
#include "base/suggest.hpp"
#include "base/text.hpp"
#include "base/toml.hpp"
#include "oci/platform.hpp"
#include "oci/reference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

namespace sparkrun::lock {
namespace {

constexpr long long format_version = 1;
constexpr size_t value_length_max = 200;  // of a release variable

// The profile whose lock this is, for hints; a name in capitals where the source is no lockfile.
std::string profile_of(const std::string& source) {
  const std::filesystem::path path{source};
  return path.extension() == ".lock" ? path.stem().string() : "PROFILE";
}

// Reads one lockfile and collects every fault before it throws.
class Reader {
 public:
  explicit Reader(const std::string& source) : source_(source) {}

  Lockfile read(const TomlNode& root) {
    check_version(root);
    Lockfile lock;
    for (const auto& [key, node] : root.entries) {
      if (key == "version") continue;
      if (key == "image")
        lock.image = reference(key, node);
      else if (key == "index")
        lock.index = digest(key, node);
      else if (key == "taken")
        lock.taken = reference(key, node);
      else if (key == "taken_because")
        lock.taken_because = text(key, node);
      else if (key == "platform")
        lock.platforms = platforms(node);
      else
        unknown(key, node, {"version", "image", "index", "taken", "taken_because", "platform"});
    }
    if (lock.image.empty()) problems_.push_back(source_ + ": `image` is missing");
    if (!lock.index && lock.platforms.size() != 1) {
      problems_.push_back(source_ + ": needs `index`, or exactly one platform with a `manifest`");
    }
    if (!problems_.empty()) {
      throw Error{"lock.invalid",
                  fmt::format("{} is not a valid lockfile", source_),
                  {{"profile", profile_of(source_)}},
                  problems_};
    }
    return lock;
  }

 private:
  void report(const TomlNode& node, const std::string& what) {
    problems_.push_back(fmt::format("{}:{}:{}: {}", source_, node.line, node.column, what));
  }

  void unknown(const std::string& key, const TomlNode& node,
               const std::vector<std::string>& known) {
    report(node, fmt::format("unknown key `{}`{}", printable(key), did_you_mean(key, known)));
  }

  void check_version(const TomlNode& root) {
    const TomlNode* const version = root.find("version");
    if (version == nullptr || version->kind != TomlNode::Kind::integer) {
      throw Error{"lock.invalid",
                  source_ + ": `version` is missing or not a whole number",
                  {{"profile", profile_of(source_)}}};
    }
    if (version->integer > format_version) {
      throw Error{"lock.newer", fmt::format("{} has format version {}, and this sparkrun knows {}",
                                            source_, version->integer, format_version)};
    }
    if (version->integer < 1) {
      throw Error{
          "lock.invalid", source_ + ": `version` must be 1", {{"profile", profile_of(source_)}}};
    }
  }

  std::string text(const std::string& key, const TomlNode& node) {
    if (node.kind == TomlNode::Kind::string) return node.string;
    report(node, fmt::format("`{}` must be a string, not {}", key, describe(node.kind)));
    return {};
  }

  std::string reference(const std::string& key, const TomlNode& node) {
    const std::string value = text(key, node);
    try {
      if (!value.empty()) static_cast<void>(oci::Reference::parse(value));
    } catch (const Error& error) {
      report(node, fmt::format("`{}`: {}", key, error.what()));
    }
    return value;
  }

  std::optional<Digest> digest(const std::string& key, const TomlNode& node) {
    const std::string value = text(key, node);
    if (Digest::is_valid(value)) return Digest::parse(value);
    if (node.kind == TomlNode::Kind::string) {
      report(node, fmt::format("`{}` is not a digest: `{}`", key, printable(value)));
    }
    return std::nullopt;
  }

  std::map<std::string, PlatformPin> platforms(const TomlNode& table) {
    std::map<std::string, PlatformPin> result;
    if (table.kind != TomlNode::Kind::table) report(table, "`platform` must be a table");
    for (const auto& [name, node] : table.entries) {
      try {
        static_cast<void>(oci::Platform::parse(name));
      } catch (const Error& error) {
        report(node, error.what());
      }
      if (std::optional<PlatformPin> pin = platform(node)) result.emplace(name, std::move(*pin));
    }
    return result;
  }

  std::optional<PlatformPin> platform(const TomlNode& table) {
    const TomlNode* const manifest = table.find("manifest");
    if (manifest == nullptr) {
      report(table, "a platform needs `manifest`");
      return std::nullopt;
    }
    const std::optional<Digest> pinned = digest("manifest", *manifest);
    if (!pinned) return std::nullopt;
    PlatformPin pin{.manifest = *pinned};
    for (const auto& [key, node] : table.entries) {
      if (key == "manifest") continue;
      if (key == "index")
        pin.index = digest(key, node);
      else if (key == "config")
        pin.config = digest(key, node);
      else if (key == "chain")
        pin.chain = digest(key, node);
      else if (key == "created")
        pin.created = text(key, node);
      else if (key == "download_bytes")
        pin.download_bytes = bytes(node);
      else if (key == "image_env")
        pin.image_env = variables(node);
      else
        unknown(key, node,
                {"manifest", "index", "config", "chain", "created", "download_bytes", "image_env"});
    }
    return pin;
  }

  long long bytes(const TomlNode& node) {
    if (node.kind == TomlNode::Kind::integer && node.integer >= 0) return node.integer;
    report(node, "`download_bytes` must be a whole number of bytes");
    return -1;
  }

  std::map<std::string, std::string> variables(const TomlNode& table) {
    std::map<std::string, std::string> result;
    if (table.kind != TomlNode::Kind::table) report(table, "`image_env` must be a table");
    for (const auto& [name, node] : table.entries) result[name] = text(name, node);
    return result;
  }

  const std::string& source_;
  std::vector<std::string> problems_;
};

// Up to the last comment before the first key, blank lines between included.
std::string leading_comment(std::string_view text) {
  constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  std::string comment, blank_lines;
  for (std::string_view line : split(text, '\n')) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) {
      blank_lines += '\n';
    } else if (line.starts_with('#')) {
      comment.append(std::exchange(blank_lines, {})).append(line).append("\n");
    } else {
      break;
    }
  }
  return comment;
}

std::string platform_text(const std::string& name, const PlatformPin& pin) {
  const std::string header = "platform." + toml_string(name);
  std::string text = fmt::format("\n[{}]\n", header);
  if (pin.chain) text += fmt::format("chain = {}\n", toml_string(pin.chain->to_string()));
  if (pin.config) text += fmt::format("config = {}\n", toml_string(pin.config->to_string()));
  if (!pin.created.empty()) text += fmt::format("created = {}\n", toml_string(pin.created));
  if (pin.download_bytes >= 0) text += fmt::format("download_bytes = {}\n", pin.download_bytes);
  if (pin.index) text += fmt::format("index = {}\n", toml_string(pin.index->to_string()));
  text += fmt::format("manifest = {}\n", toml_string(pin.manifest.to_string()));
  if (pin.image_env.empty()) return text;
  text += fmt::format("\n[{}.image_env]\n", header);
  for (const auto& [key, value] : pin.image_env) {
    text += fmt::format("{} = {}\n", toml_key(key), toml_string(value));
  }
  return text;
}

}  // namespace

Lockfile Lockfile::parse(std::string_view text, const std::string& source) {
  if (const auto line = find_conflict_marker(text)) {
    throw Error{"lock.conflict",
                fmt::format("{}:{}: the lockfile has git conflict markers", source, *line),
                {{"profile", profile_of(source)}}};
  }
  const auto parsed = parse_toml(text);
  if (const auto* fault = std::get_if<TomlFault>(&parsed)) {
    throw Error{"lock.invalid",
                fmt::format("{}:{}:{}: {}", source, fault->line, fault->column, fault->message),
                {{"profile", profile_of(source)}}};
  }
  Lockfile lock = Reader{source}.read(std::get<TomlNode>(parsed));
  lock.comment = leading_comment(text);
  return lock;
}

std::string Lockfile::to_text() const {
  std::string text = comment + fmt::format("image = {}\n", toml_string(image));
  if (index) text += fmt::format("index = {}\n", toml_string(index->to_string()));
  if (!taken.empty()) text += fmt::format("taken = {}\n", toml_string(taken));
  if (!taken_because.empty()) {
    text += fmt::format("taken_because = {}\n", toml_string(taken_because));
  }
  text += fmt::format("version = {}\n", format_version);
  for (const auto& [name, pin] : platforms) text += platform_text(name, pin);
  return text;
}

bool Lockfile::is_complete() const {
  return !platforms.empty() && std::ranges::all_of(platforms, [&](const auto& entry) {
    const PlatformPin& pin = entry.second;
    return pin.config && pin.chain && pin.download_bytes >= 0 && pin.index == index;
  });
}

std::string fallback_text(const Lockfile& lock) {
  if (lock.taken.empty()) return {};
  return fmt::format("{} is wanted, {} was taken: {}", lock.image, lock.taken, lock.taken_because);
}

Digest locked_root(const Lockfile& lock) {
  return lock.index ? *lock.index : lock.platforms.begin()->second.manifest;
}

std::string default_comment() { return "# Written by `sparkrun lock`. Commit this file.\n"; }

std::vector<std::string> stale_reasons(const Lockfile& lock, const std::string& image,
                                       const std::vector<std::string>& platforms) {
  std::vector<std::string> reasons;
  if (lock.image != image) {
    reasons.push_back(
        fmt::format("image: the profile says {}, the lock was made for {}", image, lock.image));
  }
  const auto pinned = oci::Reference::parse(image).digest();
  if (pinned && pinned != locked_root(lock)) {
    reasons.push_back(fmt::format("image: the profile names {}, the lock pins {}",
                                  pinned->to_string(), locked_root(lock).to_string()));
  }
  for (const std::string& platform : platforms) {
    if (!lock.platforms.contains(platform)) {
      reasons.push_back(
          fmt::format("platforms: the profile lists {}, the lock has no such entry", platform));
    }
  }
  for (const auto& [platform, pin] : lock.platforms) {
    // Git merges an update of one platform and the addition of another without a conflict.
    if (pin.index && pin.index != lock.index) {
      reasons.push_back(
          fmt::format("platforms: {} was pinned from {}, which is not the lock's index (a merge of "
                      "two changes?)",
                      platform, pin.index->to_string()));
    }
    if (std::ranges::find(platforms, platform) == platforms.end()) {
      reasons.push_back(
          fmt::format("platforms: the lock has {}, the profile does not list it", platform));
    }
  }
  return reasons;
}

std::map<std::string, std::string> release_variables(const std::vector<std::string>& env) {
  constexpr auto exact = std::to_array<std::string_view>(
      {"CUDA_VERSION", "CUDA_DRIVER_VERSION", "CUDNN_VERSION", "NCCL_VERSION", "PYTORCH_VERSION",
       "TRT_VERSION", "TRTLLM_VERSION", "TORCH_CUDA_ARCH_LIST", "TRITON_VERSION", "UNSLOTH_VERSION",
       "VLLM_VERSION", "TRANSFORMERS_VERSION"});
  std::map<std::string, std::string> result;
  for (const std::string& entry : env) {
    const auto [name, value] = split_once(entry, '=');
    const bool is_release = std::ranges::find(exact, name) != exact.end() ||
                            (name.starts_with("NVIDIA_") && name.ends_with("_VERSION"));
    if (is_release && value.size() <= value_length_max) result.emplace(name, value);
  }
  return result;
}

}  // namespace sparkrun::lock
