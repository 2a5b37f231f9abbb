// SPDX-License-Identifier: MIT
#include "profile/import/importer.hpp"

#include "base/error.hpp"
#include "base/secret.hpp"
#include "base/suggest.hpp"
#include "base/text.hpp"
#include "oci/platform.hpp"
#include "oci/reference.hpp"
#include "profile/import/draft.hpp"
#include "profile/import/env.hpp"
#include "profile/import/gpu.hpp"
#include "profile/import/mounts.hpp"
#include "profile/import/purpose.hpp"
#include "profile/import/run_line.hpp"
#include "profile/import/shell_text.hpp"
#include "profile/import/writer.hpp"
#include "profile/reader.hpp"
#include "profile/values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

namespace sparkrun::profile {
namespace {

bool has_control(std::string_view text) {
  return std::ranges::any_of(
      text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

// What Go's strconv.ParseBool takes; docker refuses anything else.
bool is_boolean(std::string_view text) {
  constexpr std::array values = std::to_array<std::string_view>(
      {"1", "t", "T", "true", "TRUE", "True", "0", "f", "F", "false", "FALSE", "False"});
  return std::ranges::find(values, text) != values.end();
}

// Whether the reader of profiles takes the value for this key.
bool fits_key(const Option& option, const std::string& value) {
  if (has_control(value)) return false;
  if (value.empty()) return option.key == "entrypoint";
  // A word that a profile has a meaning of its own for.
  if (option.key == "user" && value == "caller") return false;
  if (option.kind == ValueKind::number) return is_number(value);
  if (option.kind == ValueKind::size) {
    return is_size(value) || (option.key == "memory_swap" && value == "-1");
  }
  return true;
}

bool has_pair_form(const Option& option, const std::string& value) {
  const auto [name, rest] = split_once(value, '=');
  const bool needs_value = option.key == "ulimits" || option.key == "sysctls";
  return is_plain_name(name) && !has_control(value) && (name.size() < value.size() || !needs_value);
}

class Importer {
 public:
  Importer(const ImportFacts& facts, const ShellRun& run) : draft_(facts), run_(run) {
    draft_.secrets = run.secrets;
  }

  Imported import(std::span<const std::string> words) {
    const RunLine line = split_run_line(words);
    read_prefix(line);
    const ReadWords read = read_words(line.arguments);
    for (const Word& word : read.options) take(word);
    take_image(line.arguments.subspan(read.end));
    gpu_.write(draft_);
    finish();
    return result();
  }

 private:
  void read_prefix(const RunLine& line) {
    exported_ = run_.exported;
    for (const std::string& variable : line.variables) {
      const auto [name, value] = split_once(variable, '=');
      exported_[std::string{name}] = value;
    }
    for (const auto& [name, value] : exported_) {
      if (!name.starts_with("DOCKER_") && name != "CONTAINER_HOST") continue;
      refuse_word(fmt::format("{}={}", name, value),
                  "a profile does not say which engine it runs on",
                  "take it away, and set it where you run sparkrun");
    }
    if (line.engine == "podman") draft_.profile.engine = "podman";
    if (line.has_sudo) {
      draft_.note(
          "`sudo` is not imported: where the engine needs it, say so in your own configuration "
          "(`[engine] command`)");
    }
  }

  void take(const Word& word) {
    if (word.option == nullptr) return take_unknown(word);
    if (word.lacks_value()) {
      refuse_word(word.flag, "it lacks its value", "give the whole line");
    }
    judge_engine(*word.option, word);
    if (word.option->arity == Arity::flag) return take_flag(word);
    const std::string_view flag = word.option->flag;
    if (flag == "--env") return import_variable(draft_, word, exported_);
    if (draft_.holds_secret(*word.value)) {
      refuse_word(word.flag, "its value holds a secret, which no file should keep",
                  "pass it by `-e NAME`, or by a file");
    }
    if (flag == "--volume") return import_volume(draft_, word);
    if (flag == "--mount") return import_mount(draft_, word);
    if (flag == "--env-file") return add_env_file(word);
    if (flag == "--user" && is_caller(*word.value)) {
      return keep_last(word, "caller");
    }
    take_value(word, draft_.plain(shown_word(word), *word.value));
  }

  // Podman and docker have options that the other lacks.
  void judge_engine(const Option& option, const Word& word) {
    const bool is_podman = draft_.profile.engine == "podman";
    const bool is_other = option.engines == (is_podman ? EngineSet::docker : EngineSet::podman);
    if (!is_other) return;
    const std::string_view other = is_podman ? "docker" : "podman";
    refuse_word(word.flag, fmt::format("only {} has this option", other),
                fmt::format("write `{} run` if that is meant", other));
  }

  void take_unknown(const Word& word) {
    std::vector<std::string> flags;
    for (const Option& option : options()) flags.emplace_back(option.flag);
    const std::string meant = did_you_mean(word.flag, flags);
    if (!word.value || !word.flag.starts_with("--")) {
      refuse_word(word.flag,
                  "sparkrun does not know this option, nor whether it takes the next word" + meant,
                  "write it as `--option=value`, which is passed through");
    }
    if (draft_.holds_secret(*word.value) || is_secret(word.flag, *word.value)) {
      refuse_word(word.flag, "its value holds a secret, which no file should keep", "take it away");
    }
    draft_.warn(fmt::format("`{}` is an option that sparkrun does not know{}; it is passed through",
                            word.flag, meant));
    draft_.pass_through(word, draft_.plain(shown_word(word), *word.value));
  }

  void take_flag(const Word& word) {
    const Option& option = *word.option;
    if (word.value && !is_boolean(*word.value)) {
      refuse_word(shown_word(word), "docker takes true or false here", "write the option alone");
    }
    if (option.flag == "--interactive" || option.flag == "--tty") return;
    if (option.flag == "--help") {
      refuse_word(word.flag, "it starts no container", "take it away");
    }
    if (option.key.empty()) return drop(word);
    if (!seen_.insert(option.flag).second) {
      draft_.note(fmt::format("`{}` is given twice", option.flag));
    }
    std::erase_if(draft_.profile.container,
                  [&](const OptionValue& value) { return value.option == &option; });
    if (word.is_on() == option.is_on_by_default) return;
    OptionValue value{.option = &option, .values = {}};
    if (option.is_on_by_default) value.values = {"false"};
    draft_.profile.container.push_back(std::move(value));
  }

  void drop(const Word& word) {
    draft_.note(fmt::format("`{}` is not imported: sparkrun decides it for each run", word.flag));
  }

  // `$(id -u):$(id -g)`
  static bool is_caller(const std::string& value) {
    return value == mark({.name = "id -u"}) + ":" + mark({.name = "id -g"});
  }

  void take_value(const Word& word, const std::string& value) {
    const Option& option = *word.option;
    if (option.flag == "--gpus") return gpu_.add_request(draft_, value);
    if (option.flag == "--runtime") return set_runtime(value);
    if (option.flag == "--device" && gpu_.add_device(value)) return;
    if (option.flag == "--cidfile") return drop(word);
    if (option.flag == "--platform" || option.flag == "--arch" || option.flag == "--os") {
      return set_platform(word, value);
    }
    switch (option.arity) {
      case Arity::table:
        return add_pair(word, value);
      case Arity::list:
        return add_item(word, value);
      default:
        return fits_key(option, value) ? keep_last(word, value) : pass(word, value);
    }
  }

  void pass(const Word& word, const std::string& value) {
    if (word.option->flag == "--name") {
      // One of the few that a profile cannot pass through; an empty one is none for docker.
      if (value.empty()) return;
      refuse_word(shown_word(word), "it is not the name of a container", "write another name");
    }
    draft_.note(fmt::format("`{}` is kept as a word of its own in extra_args", shown_word(word)));
    draft_.pass_through(word, value);
  }

  void set_runtime(const std::string& value) {
    if (!gpu_.runtime.empty() && gpu_.runtime != value) {
      draft_.note("`--runtime` is given twice: the last one counts");
    }
    gpu_.runtime = value;
  }

  OptionValue* find(const Option& option) {
    const auto found = std::ranges::find(draft_.profile.container, &option, &OptionValue::option);
    return found == draft_.profile.container.end() ? nullptr : &*found;
  }

  OptionValue& find_or_add(const Option& option) {
    if (OptionValue* const found = find(option)) return *found;
    return draft_.profile.container.emplace_back(OptionValue{.option = &option, .values = {}});
  }

  void keep_last(const Word& word, const std::string& value) {
    const Option& option = *word.option;
    OptionValue& kept = find_or_add(option);
    if (!kept.values.empty()) {
      // Both engines join a container to several networks.
      if (option.flag == "--network" && kept.values.front() != value) return pass(word, value);
      draft_.note(fmt::format("`{}` is given twice{}", option.flag,
                              kept.values.front() == value ? "" : ": the last one counts"));
    }
    kept.values = {value};
  }

  void add_pair(const Word& word, const std::string& value) {
    if (!has_pair_form(*word.option, value)) {
      draft_.warn(fmt::format("`{}`: not of the form NAME=VALUE", shown_word(word)));
      return draft_.pass_through(word, value);
    }
    const auto [name, text] = split_once(value, '=');
    if (is_secret(name, text)) {
      refuse_word(fmt::format("{} {}", word.flag, name),
                  "its value is a secret, which no file should keep", "take it away");
    }
    std::vector<std::string>& pairs = find_or_add(*word.option).values;
    const size_t before = pairs.size();
    std::erase_if(pairs,
                  [&](const std::string& pair) { return split_once(pair, '=').first == name; });
    if (pairs.size() < before) {
      draft_.note(fmt::format("`{} {}` is given twice: the last one counts", word.option->flag,
                              shown(name)));
    }
    pairs.push_back(fmt::format("{}={}", name, text));
  }

  // A path of a profile: relative to the project, with `~` and variables.
  void add_env_file(const Word& word) {
    const auto path = draft_.path(shown_word(word), *word.value);
    if (!path || word.value->empty() || has_control(*path))
      return pass(word, draft_.plain(shown_word(word), *word.value));
    find_or_add(*word.option).values.push_back(*path);
  }

  void add_item(const Word& word, std::string value) {
    const Option& option = *word.option;
    if (option.flag == "--label-file" && !value.starts_with('/')) {
      value = (draft_.facts.working_directory / value).lexically_normal().string();
    }
    if (has_control(value) || value.empty()) return pass(word, value);
    find_or_add(option).values.push_back(std::move(value));
  }

  void set_platform(const Word& word, const std::string& value) {
    if (word.option->flag == "--platform") {
      platform_ = value.find('/') == std::string::npos ? "linux/" + value : value;
    } else {
      (word.option->flag == "--os" ? os_ : architecture_) = value;
    }
    if (!architecture_.empty() || !os_.empty()) {
      platform_ =
          (os_.empty() ? "linux" : os_) + "/" + (architecture_.empty() ? "arm64" : architecture_);
    }
    try {
      draft_.profile.platforms = {oci::Platform::parse(platform_).to_string()};
    } catch (const Error&) {
      refuse_word(shown_word(word), "it is not a platform", "write it as in `linux/arm64`");
    }
    draft_.profile.names_platforms = true;
  }

  void take_image(std::span<const std::string> words) {
    // `--` ends the options for docker as well.
    if (!words.empty() && words.front() == "--") words = words.subspan(1);
    if (words.empty()) {
      refuse_word(draft_.profile.engine == "podman" ? "podman run" : "docker run",
                  "the line names no image",
                  run_.cut_by_comment.empty() ? "give the whole line" : run_.cut_by_comment);
    }
    const std::string image = draft_.plain(words.front(), words.front());
    try {
      oci::Reference::parse(image);
    } catch (const Error& error) {
      refuse_word(words.front(), one_line(redact(error.what())),
                  "write the image as in `nvcr.io/nvidia/pytorch:25.09-py3`");
    }
    if (draft_.holds_secret(image))
      refuse_word("IMAGE", "it holds a secret", "write the image's name");
    draft_.profile.image = image;
    for (const std::string& word : words.subspan(1)) {
      draft_.profile.command.push_back(draft_.plain(word, word));
    }
    judge_command(draft_);
  }

  void finish() {
    Profile& profile = draft_.profile;
    std::ranges::stable_sort(profile.container, {}, &OptionValue::option);
    if (profile.image.find('/') == std::string::npos) {
      draft_.note(
          fmt::format("{} names no registry: docker.io is asked for it, and an image that "
                      "was built here cannot be locked",
                      shown(profile.image)));
    }
    const Purpose purpose = infer_purpose(profile);
    profile.purpose = purpose.name;
    if (!purpose.name.empty()) {
      draft_.note(fmt::format("purpose = \"{}\", because of `{}`", purpose.name, purpose.sign));
    }
  }

  // What the reader refuses never gets into a file.
  Imported result() {
    const std::string toml =
        fmt::format("# Imported from a {} run line.\n{}",
                    draft_.profile.engine.empty() ? "docker" : draft_.profile.engine,
                    write_profile(draft_.profile));
    try {
      return {.profile = read_profile(toml, "the profile"),
              .toml = toml,
              .notes = std::move(draft_.notes)};
    } catch (const Error& error) {
      const std::string problem =
          error.problems().empty() ? error.what() : error.problems().front();
      refuse_word(draft_.profile.image, "the profile would not be valid: " + redact(problem),
                  "take away what it names");
    }
  }

  Draft draft_;
  const ShellRun& run_;
  Exported exported_;
  GpuRequest gpu_;
  std::set<std::string_view> seen_;  // flags without a value
  std::string platform_, architecture_, os_;
};

// No message shows what a variable of the text says is a secret.
std::string without(const std::vector<std::string>& secrets, std::string text) {
  for (const std::string& secret : secrets) {
    for (size_t at = text.find(secret); at != std::string::npos;
         at = text.find(secret, at + redacted.size())) {
      text.replace(at, secret.size(), redacted);
    }
  }
  return text;
}

}  // namespace

Imported import_words(std::span<const std::string> words, const ImportFacts& facts) {
  for (const std::string& word : words) {
    if (!is_utf8(word)) refuse_word(printable(word), "it is not UTF-8 text", "write it in UTF-8");
  }
  const ShellRun run;
  return Importer{facts, run}.import(words);
}

Imported import_text(std::string_view text, const ImportFacts& facts) {
  const ShellRun run = read_shell_text(text, facts);
  ImportFacts there = facts;
  there.working_directory = run.directory;
  try {
    Imported imported = Importer{there, run}.import(run.words);
    imported.notes.insert(imported.notes.begin(), run.notes.begin(), run.notes.end());
    for (ImportNote& note : imported.notes) note.text = without(run.secrets, note.text);
    return imported;
  } catch (const Error& error) {
    Error::Details details;
    for (const auto& [name, value] : error.details()) details[name] = without(run.secrets, value);
    throw Error{error.id(), without(run.secrets, error.what()), std::move(details)};
  }
}

}  // namespace sparkrun::profile
