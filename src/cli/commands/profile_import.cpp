// SPDX-License-Identifier: MIT
#include "base/json_value.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/profiles.hpp"
#include "profile/import/importer.hpp"
#include "profile/import/shell_text.hpp"
#include "profile/store.hpp"
#include "run/written_plan.hpp"
#include "sys/files.hpp"

#include <fmt/format.h>

#include <array>

namespace sparkrun::cli {
namespace {

namespace fs = std::filesystem;
using profile::Imported;
using profile::ImportNote;

constexpr auto options = std::to_array<Option>({
    {"NAME", "", Takes::value, "", "the profile to write", Values::any, {}, true},
    {"--force", "", Takes::nothing, "", "replace a profile that is there"},
    {"--dry-run", "", Takes::nothing, "", "print the profile and write nothing"},
});

[[noreturn]] void fail_usage(std::string_view id, const std::string& message) {
  throw Error{id, message, {{"command", "profile import"}}};
}

profile::ImportFacts import_facts(const Context& context, const profile::Project& project) {
  const sys::Environment& environment = context.system.environment;
  return {.home = environment.home(),
          // `-C DIR` acts as if started there.
          .working_directory = context.directory ? project.root : environment.working_directory,
          .project_root = project.root,
          .uid = environment.uid,
          .gid = environment.gid};
}

Imported import(const Arguments& arguments, Context& context, const profile::ImportFacts& facts) {
  const std::vector<std::string>& words = arguments.command();
  if (words.empty()) {
    fail_usage("usage.missing_argument",
               "`sparkrun profile import` needs a line: `-- docker run ...`, or `-` for standard "
               "input");
  }
  if (words.front() != "-") return profile::import_words(words, facts);
  if (words.size() > 1) {
    fail_usage("usage.bad_value",
               fmt::format("`{}` stands behind `-`: options go before it", printable(words[1])));
  }
  return profile::import_text(context.system.terminal.read_in(profile::shell_text_bytes_max),
                              facts);
}

// What a run would say of it: what has no effect, and what it will ask to be allowed.
void add_notes_of_plan(Imported& imported, const Context& context,
                       const profile::Project& project) {
  profile::Profile profile = imported.profile;
  profile.origin = profile::Origin::project;
  for (std::string& warning : run::written_warnings(profile, project, context.system)) {
    imported.notes.push_back({true, std::move(warning)});
  }
}

void print(const std::string& name, const fs::path& path, const Imported& imported, bool wrote,
           Output& output) {
  if (output.json) {
    Json notes = Json::array();
    for (const ImportNote& note : imported.notes) notes.push_back(note.text);
    return output.result_json(Json{{"profile", name},
                                   {"path", path.string()},
                                   {"wrote", wrote},
                                   {"toml", imported.toml},
                                   {"notes", notes}});
  }
  for (const ImportNote& note : imported.notes) {
    if (note.is_warning)
      output.warning(note.text);
    else
      output.note(note.text);
  }
  output.result(wrote ? fmt::format("{}: wrote {}\n", name, path.string()) : imported.toml);
}

int run(const Arguments& arguments, Context& context) {
  const std::string name = arguments.value_or("NAME", "");
  require_profile_name(name, "profile import");
  const profile::Project project =
      profile::find_project(context.system.environment, context.directory);
  Imported imported = import(arguments, context, import_facts(context, project));
  add_notes_of_plan(imported, context, project);
  const bool writes = !arguments.has("--dry-run");
  const fs::path path = writes
                            ? write_profile(project, name, imported.toml, arguments.has("--force"))
                            : project.root / "profiles" / (name + ".toml");
  print(name, path, imported, writes, context.output);
  return 0;
}

}  // namespace

extern const Command profile_import_command{
    .name = "profile import",
    .summary = "make a profile of a docker run line",
    .options = options,
    .run = run,
    .description =
        "`profile import NAME -- docker run ...` takes the words as they are; `profile import NAME "
        "-`\n"
        "reads shell text from standard input, with its quotes, variables and comments. Secrets\n"
        "become `env_from_host`; a word that a profile cannot express is refused by name.",
    .takes_command = true};

}  // namespace sparkrun::cli
