// SPDX-License-Identifier: MIT
#include "profile/import/draft.hpp"

#include "base/secret.hpp"
#include "base/text.hpp"
#include "profile/values.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sparkrun::profile {
namespace {

bool is_of_host(std::string_view name) {
  return name == "HOME" || name == "PWD" || name == "id -u" || name == "id -g";
}

// What this host says for it.
std::string value_of(std::string_view name, const ImportFacts& facts) {
  if (name == "HOME") return facts.home.string();
  if (name == "PWD") return facts.working_directory.string();
  return std::to_string(name == "id -u" ? facts.uid : facts.gid);
}

// `path` below `folder`, as a relative path; nothing when it is not. The root folder holds
// everything and says nothing.
std::optional<fs::path> below(const fs::path& path, const fs::path& folder) {
  if (folder.empty() || folder == folder.root_path()) return std::nullopt;
  const fs::path relative = path.lexically_relative(folder);
  if (relative.empty() || *relative.begin() == "..") return std::nullopt;
  return relative;
}

fs::path without_slash(const fs::path& path) {
  const fs::path normal = path.lexically_normal();
  return normal.has_filename() || normal == normal.root_path() ? normal : normal.parent_path();
}

// A URL with a password that is written out.
bool has_password(std::string_view text) {
  for (size_t at = text.find("://"); at != std::string_view::npos; at = text.find("://", at + 3)) {
    const std::string_view rest = text.substr(at + 3);
    const std::string_view authority = rest.substr(0, rest.find_first_of("/?# \t\n\"'"));
    const size_t end = authority.rfind('@');
    if (end == std::string_view::npos) continue;
    const std::string_view password = split_once(authority.substr(0, end), ':').second;
    if (!password.empty() && !password.starts_with('$')) return true;
  }
  return false;
}

}  // namespace

bool Draft::holds_secret(std::string_view text) const {
  const bool is_known = std::ranges::any_of(secrets, [&](const std::string& secret) {
    return text.find(secret) != std::string_view::npos;
  });
  return is_known || contains_token(text) || has_password(text);
}

std::string shown_word(const Word& word) {
  if (!word.value) return shown(word.flag);
  return shown(word.flag.starts_with("--") ? word.flag + "=" + *word.value
                                           : word.flag + " " + *word.value);
}

void Draft::add(ImportNote note) {
  if (std::ranges::find(notes, note.text, &ImportNote::text) == notes.end()) {
    notes.push_back(std::move(note));
  }
}

std::string Draft::settle(std::string_view word, std::string_view text) {
  return replace_expansions(text, [&](const Expansion& expansion) {
    if (expansion.fallback) {
      note(fmt::format("`${}` is taken as what the line says for the case that it is not set",
                       expansion.name));
      return settle(word, *expansion.fallback);
    }
    if (!is_of_host(expansion.name) && !is_variable_name(expansion.name)) {
      refuse_word(word, fmt::format("only your shell knows `{}`", shown(mark(expansion))),
                  "write what it stands for");
    }
    return mark(expansion);
  });
}

std::string Draft::plain(std::string_view word, std::string_view text) {
  return replace_expansions(settle(word, text), [&](const Expansion& expansion) {
    if (!is_of_host(expansion.name)) {
      refuse_word(
          word, fmt::format("only your shell knows `{}`", shown(mark(expansion))),
          fmt::format("put `{}=...` before the command, or write the value", expansion.name));
    }
    std::string value = value_of(expansion.name, facts);
    note(fmt::format("`{}` became {}, which is this host's", shown(word), value));
    return value;
  });
}

std::string Draft::shareable(const fs::path& path, bool was_relative) const {
  const fs::path normal = without_slash(path);
  if (const auto relative = below(normal, facts.project_root)) {
    return *relative == "." ? "." : "./" + relative->string();
  }
  if (was_relative) return normal.lexically_relative(facts.project_root).string();
  if (const auto relative = below(normal, facts.home)) {
    return *relative == "." ? "~" : "~/" + relative->string();
  }
  return normal.string();
}

std::optional<std::string> Draft::path(std::string_view word, std::string_view text) {
  const std::string settled = settle(word, text);
  const std::string expanded = replace_expansions(settled, [&](const Expansion& expansion) {
    if (is_of_host(expansion.name)) return value_of(expansion.name, facts);
    return "${" + expansion.name + "}";
  });
  // What no expansion gave.
  const std::string literal = replace_expansions(settled, [](const Expansion&) { return "x"; });
  if (literal.find("${") != std::string::npos || literal == "~" || literal.starts_with("~/")) {
    return std::nullopt;
  }
  if (expanded.starts_with("${")) return expanded;
  const bool is_relative = !expanded.starts_with('/');
  return shareable(is_relative ? facts.working_directory / expanded : fs::path{expanded},
                   is_relative);
}

void Draft::pass_through(const Word& word, const std::string& value) {
  const std::string flag = word.option ? std::string{word.option->flag} : word.flag;
  profile.extra_args.push_back(flag + "=" + value);
}

}  // namespace sparkrun::profile
