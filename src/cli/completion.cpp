// SPDX-License-Identifier: MIT
#include "cli/completion.hpp"

#include "audit/query.hpp"
#include "base/text.hpp"
#include "preflight/check.hpp"
#include "profile/store.hpp"
#include "run/recorder.hpp"
#include "run/run_folder.hpp"

#include <algorithm>

namespace sparkrun::cli {
namespace {

using Words = std::vector<std::string>;

Words profile_names(const Context& context) {
  Words names;
  const profile::Project project =
      profile::find_project(context.system.environment, context.directory);
  for (const auto& listed : profile::Store{project, context.system.environment}.list())
    names.push_back(listed.name);
  return names;
}

Words run_ids(const Context& context) {
  const auto ledgers = audit::find_ledgers(
      run::audit_root(context.settings, context.system.environment), context.system.clock);
  Words ids;
  for (const audit::Run& run : audit::list(ledgers)) ids.push_back(run.id);
  return ids;
}

// What a folder of a run says is enough here: no engine is asked while somebody types.
Words going_names(const Context& context, bool includes_ended) {
  Words names;
  for (const run::RunFolder& folder : run::run_folders(context.system.environment)) {
    if (folder.has_ended() && !includes_ended) continue;
    names.push_back(folder.note().run);
    names.push_back(folder.note().profile);
    names.push_back(folder.note().container);
  }
  return names;
}

Words values(Values kind, const Context& context) {
  Words words;
  switch (kind) {
    case Values::profile:
      return profile_names(context);
    case Values::run:
      return run_ids(context);
    case Values::going:
      return going_names(context, false);
    case Values::kept:
      return going_names(context, true);
    case Values::check:
      for (const preflight::Check* check : preflight::checks()) words.emplace_back(check->id);
      return words;
    case Values::explanation:
      words = values(Values::check, context);
      words.emplace_back("trust");
      for (const ErrorKind& error : error_kinds()) words.emplace_back(error.id);
      return words;
    case Values::any:
    case Values::file:
    case Values::folder:
    case Values::command_words:
      break;  // files are the shell's own business
  }
  return words;
}

Words choices_or_values(const Option& option, const Context& context) {
  if (option.choices.empty()) return values(option.completes, context);
  const auto parts = split(option.choices, '|');
  return {parts.begin(), parts.end()};
}

Words option_names(const Command* command) {
  Words names;
  for (const Option& option : global_options()) names.emplace_back(option.name);
  if (command == nullptr) return names;
  for (const Option& option : command->options) {
    if (!option.is_positional()) names.emplace_back(option.name);
  }
  if (!command->takes_engine_flags) return names;
  for (const profile::Option& flag : profile::options()) {
    if (!flag.key.empty()) names.emplace_back(flag.flag);
  }
  return names;
}

const Option* find_option(const Command* command, std::string_view name) {
  for (const auto table :
       {command != nullptr ? command->options : std::span<const Option>{}, global_options()}) {
    for (const Option& option : table) {
      if (!option.is_positional() &&
          (option.name == name || (!option.short_name.empty() && option.short_name == name))) {
        return &option;
      }
    }
  }
  return nullptr;
}

// The next word of a command's name: `audit` -> ls, show, verify.
Words name_words(std::string_view first) {
  Words names;
  for (const Command* command : commands()) {
    if (command->is_hidden) continue;
    const auto [head, tail] = split_once(command->name, ' ');
    if (first.empty())
      names.emplace_back(head);
    else if (head == first && !tail.empty())
      names.emplace_back(tail);
  }
  return names;
}

// Where the line stands: which command, and how many positionals it has already.
struct Place {
  const Command* command = nullptr;
  std::string first;  // a first word that is no command by itself: `audit`
  size_t positionals = 0;
  const Option* awaits = nullptr;  // the option whose value comes next
};

Place find_place(const Words& before) {
  Place place;
  for (const std::string& word : before) {
    if (place.awaits != nullptr) {
      place.awaits = nullptr;
    } else if (word.starts_with('-')) {
      const Option* const option = find_option(place.command, word);
      if (option != nullptr && option->takes_next_word()) place.awaits = option;
    } else if (place.command != nullptr) {
      ++place.positionals;
    } else {
      const std::string name = place.first.empty() ? word : place.first + " " + word;
      place.command = find_command(name);
      place.first = name;
    }
  }
  return place;
}

Words candidates(const Place& place, const std::string& current, const Context& context) {
  if (place.awaits != nullptr) return choices_or_values(*place.awaits, context);
  if (current.starts_with('-')) return option_names(place.command);
  if (place.command == nullptr) return name_words(place.first);
  size_t at = 0;
  for (const Option& option : place.command->options) {
    if (!option.is_positional()) continue;
    if (at == place.positionals || option.takes == Takes::values)
      return choices_or_values(option, context);
    ++at;
  }
  return {};
}

}  // namespace

std::vector<std::string> complete(const std::vector<std::string>& words, const Context& context) {
  const std::string current = words.empty() ? "" : words.back();
  const Words before(words.begin(), words.empty() ? words.end() : words.end() - 1);
  Words found;
  try {
    found = candidates(find_place(before), current, context);
  } catch (const Error&) {
    return {};  // a completion never shows an error in the middle of a line
  }
  std::erase_if(found,
                [&](const std::string& candidate) { return !candidate.starts_with(current); });
  std::ranges::sort(found);
  found.erase(std::ranges::unique(found).begin(), found.end());
  return found;
}

}  // namespace sparkrun::cli
