// SPDX-License-Identifier: MIT
#include "profile/import/shell_text.hpp"

#include "base/secret.hpp"
#include "base/text.hpp"
#include "profile/import/expansion.hpp"
#include "profile/import/run_line.hpp"
#include "profile/import/shell_words.hpp"
#include "profile/values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace sparkrun::profile {
namespace {

// Of lines and commands in one message.
constexpr size_t named_max = 12;

// Shorter ones occur everywhere.
constexpr size_t secret_length_min = 4;

constexpr std::string_view advice_plain =
    "write the one `docker run` line as you would type it, without the shell around it";
constexpr std::string_view advice_value =
    "quote it where the container is to see it as it is, else write what it stands for";

// Something that a command does beside having words.
struct ShellFault {
  std::string sign;
  std::string_view why;
};

struct ShellCommand {
  std::vector<std::string> words;
  std::vector<std::pair<std::string, std::string>> assignments;
  std::vector<ShellFault> faults;
  std::string cut_by_comment;
  bool follows_cut = false;  // begins with what a comment cut off
};

bool is_reserved(std::string_view word) {
  constexpr std::array words = std::to_array<std::string_view>(
      {"if",   "then", "else",   "elif",     "fi",     "for", "while", "until", "do", "done",
       "case", "esac", "select", "function", "coproc", "{",   "}",     "!",     "[[", "return"});
  return std::ranges::find(words, word) != words.end();
}

// What documentation shows before a command: `$`, `user@host:~$`, `root@host:/#`.
bool is_prompt(std::string_view word) {
  const bool names_host = word.find('@') != std::string_view::npos && word.size() > 2;
  return word == "$" || word == "%" || (names_host && (word.ends_with('$') || word.ends_with('#')));
}

// Line ends of Windows, and the fences of Markdown.
std::string plain_text(std::string_view text, bool has_root_prompt) {
  std::string result;
  for (std::string_view line : split(text, '\n')) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (trim(line).starts_with("```")) line = {};
    const std::string_view start = trim(line);
    if (has_root_prompt && start.starts_with("# ") &&
        can_begin_run_line(start.substr(2, start.find(' ', 2) - 2))) {
      line = start.substr(2);
    }
    result.append(line).append("\n");
  }
  return result;
}

class ShellReader {
 public:
  ShellReader(std::string_view text, const ImportFacts& facts)
      : text_(text), facts_(facts), words_(text_, variables_) {
    result_.directory = facts.working_directory;
  }

  [[nodiscard]] bool has_run() const { return runs_ > 0; }

  void read() {
    while (!words_.is_at_end()) read_command();
    finish_command();
  }

  ShellRun take() {
    if (trim(text_).empty()) {
      refuse_word("", "the text is empty", "give a `docker run` line");
    }
    if (runs_ == 0) {
      refuse_word(trim(text_).substr(0, trim(text_).find('\n')), "the text runs no container",
                  "give a `docker run` line");
    }
    for (ImportNote& note : words_.notes) result_.notes.push_back(std::move(note));
    if (!skipped_.empty()) {
      result_.notes.push_back(
          {false, fmt::format("not imported, run it yourself where it is needed: `{}`",
                              join(skipped_, "`, `"))});
    }
    return std::move(result_);
  }

 private:
  // Up to what ends a command, or one of its words.
  void read_command() {
    words_.skip_blanks();
    if (words_.is_at_end()) return;
    if (words_.is_at("#")) return skip_comment();
    if (words_.is_at("\n")) {
      ++words_.at;
      if (!here_documents_.empty()) skip_here_documents();
      return finish_command();
    }
    if (read_operator()) return;
    read_word();
  }

  bool read_operator() {
    for (const std::string_view sign : {"&&", "||", ";"}) {
      if (!words_.is_at(sign)) continue;
      words_.at += sign.size();
      finish_command();
      return true;
    }
    if (words_.is_at("<") || words_.is_at(">") || words_.is_at("&>")) return read_redirection("");
    if (words_.is_at("|")) {
      ++words_.at;
      add_fault("|", "what goes through a pipe is not part of the container");
      finish_command();
      add_fault("|", "what goes through a pipe is not part of the container");
      return true;
    }
    if (words_.is_at("&")) {
      ++words_.at;
      add_fault("&", "a profile does not run in the background of a shell");
      finish_command();
      return true;
    }
    if (words_.is_at("(") || words_.is_at(")")) {
      refuse_word(words_.rest().substr(0, 1), "only plain commands are understood", advice_plain);
    }
    return false;
  }

  bool read_redirection(const std::string& number) {
    const size_t from = words_.at;
    const bool is_document = words_.is_at("<<") && !words_.is_at("<<<");
    words_.at += std::min(words_.rest().find_first_not_of("<>&|-"), words_.rest().size());
    const std::string sign = number + text_.substr(from, words_.at - from);
    words_.skip_blanks();
    const std::vector<std::string> target = words_.read_fields();
    if (is_document && !target.empty()) here_documents_.push_back(target.front());
    add_fault(sign + (target.empty() ? "" : target.front()),
              "where a shell sends the output is not part of the container");
    return true;
  }

  void skip_here_documents() {
    for (const std::string& end : here_documents_) {
      while (!words_.is_at_end()) {
        const std::string_view line = words_.rest().substr(0, words_.rest().find('\n'));
        words_.at = std::min(words_.at + line.size() + 1, text_.size());
        if (trim(line) == end) break;
      }
    }
    here_documents_.clear();
  }

  void read_word() {
    if (command_.words.empty()) {
      const std::string_view rest = words_.rest();
      const size_t equals = rest.find_first_of("= \t\n");
      if (equals != std::string_view::npos && rest[equals] == '=') {
        std::string_view name = rest.substr(0, equals);
        const bool appends = name.ends_with('+');
        if (appends) name.remove_suffix(1);
        if (is_variable_name(name)) return read_assignment(std::string{name}, equals + 1, appends);
      }
    }
    const size_t from = words_.at;
    const std::vector<std::string> fields = words_.read_fields();
    const std::string_view raw = std::string_view{text_}.substr(from, words_.at - from);
    if (words_.at == from) {  // a sign that no word begins with; never stand still
      ++words_.at;
      return;
    }
    const bool is_number = !raw.empty() && raw.find_first_not_of("0123456789") == raw.npos;
    if (is_number && (words_.is_at(">") || words_.is_at("<"))) {
      read_redirection(std::string{raw});
      return;
    }
    if (command_.words.empty() && is_prompt(raw)) return;
    if (command_.words.empty() && is_reserved(raw)) {
      refuse_word(raw, "only plain commands are understood", advice_plain);
    }
    if (!words_.pattern().empty()) {
      add_fault(words_.pattern(), "a shell may make other words of it");
    }
    command_.words.insert(command_.words.end(), fields.begin(), fields.end());
  }

  void read_assignment(const std::string& name, size_t value_at, bool appends) {
    words_.at += value_at;
    if (words_.is_at("(")) return read_array(name);
    const std::string value = words_.read_value();
    const auto old = variables_.find(name);
    const std::string before = appends && old != variables_.end() ? old->second : "";
    command_.assignments.emplace_back(name, before + value);
  }

  // Its words are not kept: where one is used, its name is what cannot be imported.
  void read_array(const std::string& name) {
    size_t depth = 0;
    do {
      const std::string_view rest = words_.rest();
      if (rest.front() == '(')
        ++depth, ++words_.at;
      else if (rest.front() == ')')
        --depth, ++words_.at;
      else if (rest.front() == '#')
        words_.at += std::min(rest.find('\n'), rest.size());
      else if (const size_t from = words_.at; words_.read_fields(), words_.at == from)
        ++words_.at;
    } while (depth > 0 && !words_.is_at_end());
    variables_[name] = mark({.name = fmt::format("{{{}[@]}}", name)});
  }

  void skip_comment() {
    const std::string_view comment = words_.rest().substr(0, words_.rest().find('\n'));
    const size_t from = words_.at;
    words_.at += comment.size();
    const size_t line_at =
        text_.rfind('\n', from) == std::string::npos ? 0 : text_.rfind('\n', from);
    const bool has_own_line = trim(text_.substr(line_at, from - line_at)).empty();
    const bool cuts = has_own_line || trim(comment).ends_with('\\');
    if (!cuts || !is_run_line(command_.words)) return;
    std::string_view rest = words_.rest();
    std::vector<std::string> lines;
    for (bool goes_on = true; goes_on && rest.starts_with('\n') && lines.size() < named_max;) {
      rest.remove_prefix(1);
      const std::string_view line = trim(rest.substr(0, rest.find('\n')));
      if (line.empty()) break;
      goes_on = line.ends_with('\\');
      lines.push_back(shown(line));
      rest.remove_prefix(std::min(rest.find('\n'), rest.size()));
    }
    command_.cut_by_comment = fmt::format(
        "the comment `{}` ends the command there, for a shell as well; not imported: {}",
        shown(comment), lines.empty() ? "nothing" : "`" + join(lines, "` `") + "`");
    is_cut_ = true;
  }

  void add_fault(const std::string& sign, std::string_view why) {
    command_.faults.push_back({sign, why});
  }

  void finish_command() {
    ShellCommand command = std::exchange(command_, {});
    command.follows_cut = is_cut_ && command.cut_by_comment.empty();
    if (command.words.empty()) {
      for (auto& [name, value] : command.assignments) set(name, value);
      return;
    }
    is_cut_ = !command.cut_by_comment.empty();
    if (is_run_line(command.words)) return take_run(std::move(command));
    if (command.words.front() == "cd") {
      is_lost_ = !change_directory(command);
      if (!is_lost_) return;
    }
    if (command.words.front() == "set") return;
    if (is_export(command)) return;
    if (command.follows_cut || skipped_.size() > named_max) return;
    skipped_.push_back(skipped_.size() == named_max ? "..." : skipped_name(command.words));
  }

  // Not the whole line, in which anything could be: `docker login ...`.
  static std::string skipped_name(const std::vector<std::string>& words) {
    const bool has_command = words.size() > 1 && can_begin_run_line(words[0]);
    return shown(words[0]) + (has_command ? " " + shown(words[1]) : "");
  }

  void take_run(ShellCommand command) {
    if (++runs_ > 1) {
      refuse_word(skipped_name(command.words), "it is the second container of the text",
                  "import them one by one");
    }
    if (!command.faults.empty()) {
      refuse_word(command.faults.front().sign, command.faults.front().why,
                  command.faults.front().sign.find_first_of("|&<>") == std::string::npos
                      ? advice_value
                      : "take it away; it can stand behind `sparkrun run` as well");
    }
    for (const std::string& word : command.words) {
      if (!is_utf8(unmarked(word)) || word.find('\0') != std::string::npos) {
        refuse_word(printable(unmarked(word)), "it is not UTF-8 text", "write it in UTF-8");
      }
    }
    if (is_lost_) refuse_relative(command.words);
    result_.words = std::move(command.words);
    result_.cut_by_comment = command.cut_by_comment;
    if (!command.cut_by_comment.empty()) result_.notes.push_back({true, command.cut_by_comment});
    for (const std::string& name : exported_) result_.exported[name] = variables_[name];
    for (auto& [name, value] : command.assignments) result_.exported[name] = value;
    for (const auto& values :
         {variables_, ShellVariables{result_.exported.begin(), result_.exported.end()}}) {
      for (const auto& [name, value] : values) {
        if (is_secret_name(name) && value.size() >= secret_length_min && !has_expansion(value)) {
          result_.secrets.push_back(value);
        }
      }
    }
    result_.directory = directory_.empty() ? facts_.working_directory : directory_;
  }

  // After a `cd` to where only the shell knows, nobody can say what these mean.
  static void refuse_relative(const std::vector<std::string>& words) {
    for (const std::string& word : words) {
      bool is_relative = word.starts_with("./") || word.starts_with("../") ||
                         word.find("=./") != std::string::npos;
      static_cast<void>(replace_expansions(word, [&](const Expansion& expansion) {
        is_relative |= expansion.name == "PWD";
        return std::string{};
      }));
      if (is_relative) {
        refuse_word(printable(unmarked(word)),
                    "an earlier `cd` leads to where only the shell knows",
                    "write the folder itself in place of the variable");
      }
    }
  }

  static std::string unmarked(std::string_view word) {
    return replace_expansions(word, [](const Expansion&) { return ""; });
  }

  void set(const std::string& name, const std::string& value) { variables_[name] = value; }

  // `export NAME=value`, `export NAME`, and what declares variables without exporting them.
  bool is_export(const ShellCommand& command) {
    constexpr std::array names =
        std::to_array<std::string_view>({"export", "declare", "typeset", "readonly", "local"});
    const std::string& first = command.words.front();
    if (std::ranges::find(names, first) == names.end()) return false;
    const bool exports =
        first == "export" || std::ranges::find(command.words, "-x") != command.words.end();
    for (const std::string& word : command.words) {
      const auto [name, value] = split_once(word, '=');
      if (!is_variable_name(name) || &word == &command.words.front()) continue;
      if (name.size() < word.size()) set(std::string{name}, std::string{value});
      if (exports && variables_.contains(name)) exported_.emplace_back(name);
    }
    return true;
  }

  // False where only the shell knows where to.
  bool change_directory(const ShellCommand& command) {
    if (command.words.size() > 2) return false;
    const std::string target =
        command.words.size() == 2 ? command.words[1] : mark({.name = "HOME"});
    bool is_known = target != "-";
    const fs::path here = directory_.empty() ? facts_.working_directory : directory_;
    const auto replace = [&](const Expansion& expansion) {
      if (expansion.name == "HOME") return facts_.home.string();
      if (expansion.name == "PWD") return here.string();
      is_known = false;
      return std::string{};
    };
    const fs::path path = here / replace_expansions(target, replace);
    if (!is_known) return false;
    for (auto& [name, value] : variables_) {
      value = replace_expansions(value, [&](const Expansion& expansion) {
        return expansion.name == "PWD" ? here.string() : mark(expansion);
      });
    }
    directory_ = path.lexically_normal();
    if (!directory_.has_filename()) directory_ = directory_.parent_path();
    return true;
  }

  std::string text_;
  const ImportFacts& facts_;
  ShellVariables variables_;
  std::vector<std::string> exported_;
  ShellWords words_;
  ShellCommand command_;
  std::vector<std::string> here_documents_;
  std::vector<std::string> skipped_;
  fs::path directory_;
  bool is_cut_ = false;
  bool is_lost_ = false;  // a `cd` could not be followed
  int runs_ = 0;
  ShellRun result_;
};

}  // namespace

ShellRun read_shell_text(std::string_view text, const ImportFacts& facts) {
  if (text.size() > shell_text_bytes_max) {
    refuse_word(text.substr(0, 40), "the text is larger than 1 MiB", "give one `docker run` line");
  }
  if (text.find('\0') != std::string_view::npos || !is_utf8(text)) {
    const std::string_view line = trim(text);
    refuse_word(printable(line.substr(0, line.find('\n'))), "the text is not UTF-8 without NULs",
                "save it as UTF-8");
  }
  // `# docker run ...` is a comment, unless it is all that there is: then it is root's prompt.
  for (const bool has_root_prompt : {false, true}) {
    ShellReader reader{plain_text(text, has_root_prompt), facts};
    reader.read();
    if (reader.has_run() || has_root_prompt) return reader.take();
  }
  return {};
}

}  // namespace sparkrun::profile
