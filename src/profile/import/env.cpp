// SPDX-License-Identifier: MIT
#include "profile/import/env.hpp"

#include "base/secret.hpp"
#include "base/text.hpp"
#include "profile/values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace sparkrun::profile {
namespace {

using NameValue = std::pair<std::string, std::string>;

// A base64 key may begin with a slash, but hardly with one of these.
bool is_usual_path(std::string_view value) {
  constexpr std::array roots = std::to_array<std::string_view>(
      {"/run/", "/etc/", "/home/", "/root/", "/var/", "/opt/", "/tmp/", "/mnt/", "/data/",
       "/workspace/", "/app/", "/srv/", "/secrets/"});
  return std::ranges::any_of(roots, [&](auto root) { return value.starts_with(root); });
}

// What stands where a secret could: switches, numbers, paths, and words that say there is none.
bool is_harmless(std::string_view value) {
  constexpr std::array words =
      std::to_array<std::string_view>({"", "true", "false", "yes", "no", "on", "off", "none",
                                       "null", "empty", "dummy", "no-key", "not-needed", "auto"});
  constexpr size_t digits_max = 6;  // MAX_TOKEN=4096, and no PIN of eight digits
  return (is_number(value) && value.size() <= digits_max) || is_usual_path(value) ||
         std::ranges::find(words, to_lower(value)) != words.end();
}

bool is_kept_from_file(const Draft& draft, std::string_view name, std::string_view value) {
  const bool is_literal = value.find('$') == std::string_view::npos;
  return draft.holds_secret(value) || (is_literal && redact(value) != value) ||
         (is_secret_name(name) && !is_harmless(value));
}

void forget(Draft& draft, const std::string& name) {
  Profile& profile = draft.profile;
  const size_t before = profile.env.size() + profile.env_from_host.size();
  std::erase_if(profile.env, [&](const NameValue& pair) { return pair.first == name; });
  std::erase_if(profile.env_from_host,
                [&](const HostVariable& variable) { return variable.name == name; });
  if (profile.env.size() + profile.env_from_host.size() < before) {
    draft.note(fmt::format("`{}` is given twice: the last one counts", shown(name)));
  }
}

void take_from_host(Draft& draft, const std::string& name, bool is_required) {
  forget(draft, name);
  draft.profile.env_from_host.push_back({.name = name, .is_required = is_required});
}

void take_secret(Draft& draft, const std::string& name) {
  if (!is_variable_name(name)) {
    refuse_word("-e " + name, "its value is a secret, and its name is not that of a variable",
                "give the container a variable with a plain name");
  }
  take_from_host(draft, name, true);
  draft.warn(fmt::format("{}: its value is not kept; export it before a run", name));
}

void set(Draft& draft, const Word& word, const std::string& name, const std::string& value) {
  if (is_kept_from_file(draft, name, value)) return take_secret(draft, name);
  forget(draft, name);
  if (is_plain_name(name))
    draft.profile.env.emplace_back(name, value);
  else
    draft.pass_through(word, name + "=" + value);
}

// `$NAME` alone as the value. True when that was all that there is to do.
bool take_expansion(Draft& draft, const std::string& name, const Expansion& expansion) {
  const bool is_same = expansion.name == name && is_variable_name(name);
  const bool has_value = expansion.fallback && !expansion.fallback->empty();
  if (has_value && !is_secret_name(name)) return false;
  if (is_same && name != "HOME" && name != "PWD") {
    take_from_host(draft, name, !expansion.fallback);
    return true;
  }
  if (!is_secret_name(name) || !is_variable_name(name)) return false;
  take_from_host(draft, name, true);
  draft.warn(fmt::format("{}: its value came from ${}; export it as {} before a run", name,
                         expansion.name, name));
  return true;
}

// Where `=` stands outside of all expansions.
size_t find_equals(std::string_view text) {
  size_t depth = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    depth += text[at] == mark_open ? 1 : 0;
    depth -= text[at] == mark_close ? 1 : 0;
    if (depth == 0 && text[at] == '=') return at;
  }
  return std::string_view::npos;
}

// What a script may hold that no redaction could tell from code: `--api-key 8f3c..`, `HF_TOKEN=..`.
// Only words without quoting and expansions, with a digit, are taken for secrets.
std::string secret_in_script(std::string_view script) {
  constexpr std::string_view blanks = " \t\n;&|()\"'";
  constexpr std::string_view plain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.+/";
  std::string option;
  while (!script.empty()) {
    const std::string_view word = script.substr(0, script.find_first_of(blanks));
    const auto [name, joined] = split_once(word, '=');
    const bool is_pair = name.size() < word.size();
    const std::string_view value = is_pair ? joined : word;
    const std::string_view owner = is_pair ? name : std::string_view{option};
    const bool is_literal = value.find_first_not_of(plain) == std::string_view::npos &&
                            value.find_first_of("0123456789") != std::string_view::npos;
    const bool is_named = owner.starts_with("--") || to_upper(owner) == owner;
    if (!owner.empty() && is_named && is_literal && !is_harmless(value) && is_secret(owner, value))
      return std::string{owner};
    if (!word.empty()) option = word.starts_with("--") && !is_pair ? word : std::string_view{};
    script.remove_prefix(std::min(word.size() + 1, script.size()));
  }
  return "";
}

constexpr std::string_view advice_secret =
    "take it from a variable of the container, which `-e NAME` passes";

void judge_option(Draft& draft, std::string_view name, std::string_view value) {
  if (!name.starts_with('-') || !is_secret_name(name) || is_harmless(value)) return;
  if (is_secret(name, value)) {
    refuse_word(name, "the command holds a secret, which no file should keep", advice_secret);
  }
  draft.warn(
      fmt::format("`{}` in the command: its value stays in the profile as it is written; a "
                  "real secret must not",
                  shown(name)));
}

}  // namespace

void import_variable(Draft& draft, const Word& word, const Exported& exported) {
  const std::string& text = *word.value;
  const size_t equals = find_equals(text);
  const std::string name =
      draft.plain(word.flag + " " + text.substr(0, equals), text.substr(0, equals));
  if (name.empty()) {
    refuse_word(shown_word(word), "it names no variable", "write NAME=VALUE");
  }
  if (equals != std::string::npos) {
    const std::string value = text.substr(equals + 1);
    const auto whole = whole_expansion(value);
    if (whole && take_expansion(draft, name, *whole)) return;
    if (is_secret_name(name) && has_expansion(value)) return take_secret(draft, name);
    return set(draft, word, name, draft.plain(word.flag + " " + name + "=" + value, value));
  }
  if (const auto known = exported.find(name); known != exported.end()) {
    return set(draft, word, name, draft.plain(word.flag + " " + name, known->second));
  }
  if (is_variable_name(name)) return take_from_host(draft, name, false);
  draft.pass_through(word, name);
}

void judge_command(Draft& draft) {
  const std::vector<std::string>& words = draft.profile.command;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const std::string before = i > 0 && words[i - 1].starts_with('-') ? words[i - 1] : "";
    if (draft.holds_secret(word)) {
      refuse_word(before.empty() ? split_once(word.substr(0, word.find(' ')), '=').first : before,
                  "the command holds a secret, which no file should keep", advice_secret);
    }
    const auto [name, value] = split_once(word, '=');
    if (name.size() < word.size())
      judge_option(draft, name, value);
    else if (i + 1 < words.size() && !words[i + 1].starts_with('-'))
      judge_option(draft, word, words[i + 1]);
    const bool is_script = word.find_first_of(" \n") != std::string::npos;
    if (const std::string owner = is_script ? secret_in_script(word) : ""; !owner.empty()) {
      refuse_word(owner, "the command holds a secret, which no file should keep", advice_secret);
    }
  }
}

}  // namespace sparkrun::profile
