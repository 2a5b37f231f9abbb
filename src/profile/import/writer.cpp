// SPDX-License-Identifier: MIT
#include "profile/import/writer.hpp"

#include "base/text.hpp"
#include "base/toml.hpp"
#include "profile/reader.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sparkrun::profile {
namespace {

constexpr size_t line_length_max = 100;

// A script stays readable in a literal string, which has no escapes: nothing may be in it that
// would end it or that TOML does not allow there.
bool can_be_literal(std::string_view text) {
  const bool has_lines = text.find('\n') != std::string_view::npos;
  const bool is_plain = std::ranges::none_of(text, [](char c) {
    return (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') || c == 0x7f;
  });
  return has_lines && is_plain && text.find("'''") == std::string_view::npos &&
         !text.ends_with('\'');
}

// The first line end behind the opening quotes does not count.
std::string word_text(std::string_view word) {
  return can_be_literal(word) ? fmt::format("'''\n{}'''", word) : toml_string(word);
}

std::string join_words(const std::vector<std::string>& words) {
  std::vector<std::string> texts;
  for (const std::string& word : words) texts.push_back(word_text(word));
  return join(texts, ", ");
}

// On one line where there is room, else an option with its values a line.
std::string array(const std::vector<std::string>& words) {
  const std::string line = join_words(words);
  if (line.size() <= line_length_max && line.find('\n') == std::string::npos) {
    return "[" + line + "]";
  }
  std::vector<std::vector<std::string>> rows;
  for (const std::string& word : words) {
    const bool is_option = word.starts_with("--") || (word.starts_with('-') && rows.size() > 1);
    if (rows.empty() || is_option || word.find('\n') != std::string::npos) rows.emplace_back();
    rows.back().push_back(word);
  }
  std::string text = "[\n";
  for (const auto& row : rows) text += fmt::format("    {},\n", join_words(row));
  return text + "]";
}

std::string texts(const std::vector<std::string>& words) {
  std::string line = "[";
  for (const std::string& word : words) line += (line.size() > 1 ? ", " : "") + toml_string(word);
  if (line.size() <= line_length_max) return line + "]";
  std::string text = "[\n";
  for (const std::string& word : words) text += fmt::format("    {},\n", toml_string(word));
  return text + "]";
}

// `-1` and `67108864` as the numbers that people write, whatever else as text.
std::string scalar(const std::string& text) {
  const std::string_view digits = std::string_view{text}.substr(text.starts_with('-') ? 1 : 0);
  const auto number = parse_number(digits);
  const bool is_canonical = number && std::to_string(*number) == digits && text != "-0";
  return is_canonical ? text : toml_string(text);
}

void add_line(std::string& text, std::string_view key, const std::string& value) {
  text += fmt::format("{} = {}\n", key, value);
}

std::string head(const Profile& profile) {
  std::string text = fmt::format("version = {}\n", profile_version);
  if (!profile.summary.empty()) add_line(text, "summary", toml_string(profile.summary));
  if (!profile.purpose.empty()) add_line(text, "purpose", toml_string(profile.purpose));
  add_line(text, "image", toml_string(profile.image));
  if (!profile.fallback.empty()) add_line(text, "fallback", texts(profile.fallback));
  if (profile.names_platforms) add_line(text, "platforms", texts(profile.platforms));
  if (!profile.engine.empty()) add_line(text, "engine", toml_string(profile.engine));
  if (!profile.command.empty()) add_line(text, "command", array(profile.command));
  std::vector<std::string> names;
  for (const HostVariable& variable : profile.env_from_host) {
    names.push_back(variable.name + (variable.is_required ? "" : "?"));
  }
  if (!names.empty()) add_line(text, "env_from_host", texts(names));
  return text;
}

std::string gpu(const Gpu& gpu) {
  std::string text = "\n[gpu]\n";
  add_line(text, "access", toml_string(to_string(gpu.access)));
  if (gpu.access != GpuAccess::none || gpu.devices.empty()) {
    add_line(text, "devices", toml_string(gpu.devices));
  }
  return text;
}

std::string container(const Profile& profile) {
  std::string keys, tables;
  for (const OptionValue& value : profile.container) {
    const Option& option = *value.option;
    switch (option.arity) {
      case Arity::flag:
        add_line(keys, option.key, option.is_on_by_default ? "false" : "true");
        break;
      case Arity::value:
        add_line(keys, option.key,
                 option.kind == ValueKind::number ? scalar(value.values.front())
                                                  : toml_string(value.values.front()));
        break;
      case Arity::list:
        add_line(keys, option.key, texts(value.values));
        break;
      case Arity::table:
        tables += fmt::format("\n[container.{}]\n", option.key);
        for (const std::string& pair : value.values) {
          const auto [name, text] = split_once(pair, '=');
          add_line(tables, toml_key(name), scalar(std::string{text}));
        }
    }
  }
  if (!profile.extra_args.empty()) add_line(keys, "extra_args", texts(profile.extra_args));
  return (keys.empty() ? "" : "\n[container]\n" + keys) + tables;
}

std::string mount(const Mount& mount) {
  std::string text = "\n[[mount]]\n";
  add_line(text, "source", toml_string(mount.source));
  add_line(text, "target", toml_string(mount.target));
  if (mount.create) add_line(text, "create", "true");
  if (mount.read_only) add_line(text, "read_only", "true");
  if (!mount.options.empty()) add_line(text, "options", texts(mount.options));
  return text;
}

std::string variables(std::string_view table,
                      const std::vector<std::pair<std::string, std::string>>& pairs) {
  if (pairs.empty()) return "";
  std::string text = fmt::format("\n[{}]\n", table);
  for (const auto& [name, value] : pairs) add_line(text, toml_key(name), word_text(value));
  return text;
}

std::string preflight(const Preflight& preflight) {
  std::string keys, packages;
  if (preflight.min_available_gib) {
    add_line(keys, "min_available_gib", std::to_string(*preflight.min_available_gib));
  }
  for (const auto& [name, version] : preflight.packages) {
    add_line(packages, toml_key(name), toml_string(version));
  }
  return (keys.empty() ? "" : "\n[preflight]\n" + keys) +
         (packages.empty() ? "" : "\n[preflight.packages]\n" + packages);
}

}  // namespace

std::string write_profile(const Profile& profile) {
  std::string text = head(profile) + gpu(profile.gpu) + container(profile);
  for (const Mount& one : profile.mounts) text += mount(one);
  return text + variables("env", profile.env) + variables("env_from_file", profile.env_from_file) +
         preflight(profile.preflight);
}

}  // namespace sparkrun::profile
