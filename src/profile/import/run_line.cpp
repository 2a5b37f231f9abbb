// SPDX-License-Identifier: MIT
#include "profile/import/run_line.hpp"

#include "base/text.hpp"
#include "profile/import/facts.hpp"
#include "profile/values.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace sparkrun::profile {
namespace {

// `/usr/bin/docker` -> `docker`
std::string_view program(std::string_view word) { return word.substr(word.rfind('/') + 1); }

bool is_engine(std::string_view word) {
  return program(word) == "docker" || program(word) == "podman";
}

bool is_assignment(std::string_view word) {
  return word.find('=') != std::string_view::npos && is_variable_name(split_once(word, '=').first);
}

// Options of sudo that take the next word.
bool takes_word(std::string_view option) {
  constexpr std::array options = std::to_array<std::string_view>(
      {"-u", "--user", "-g", "--group", "-h", "--host", "-p", "--prompt", "-C", "-D", "-T"});
  return std::ranges::find(options, option) != options.end();
}

// What may stand before the engine: sudo with its options, env, exec, nohup, assignments.
class Prefix {
 public:
  explicit Prefix(std::span<const std::string> words) : rest(words) { read(); }

  std::span<const std::string> rest;
  bool has_sudo = false;
  std::vector<std::string> variables;

 private:
  void read() {
    while (!rest.empty()) {
      const std::string_view word = rest.front();
      const std::string_view name = program(word);
      if (is_assignment(word)) {
        variables.emplace_back(word);
      } else if (name == "sudo") {
        has_sudo = true;
        skip_options();
      } else if (name != "env" && name != "exec" && name != "nohup" && name != "command" &&
                 name != "time") {
        return;
      }
      rest = rest.subspan(1);
    }
  }

  // Leaves `rest` at the last word that belongs to sudo.
  void skip_options() {
    while (rest.size() > 1 && rest[1].starts_with('-')) {
      const bool is_end = rest[1] == "--";
      rest = rest.subspan(takes_word(rest[1]) && rest.size() > 2 ? 2 : 1);
      if (is_end) return;
    }
  }
};

// Behind `run`, or nothing where the words after the engine are another command of it.
std::optional<std::span<const std::string>> behind_run(std::span<const std::string> words) {
  if (!words.empty() && words.front() == "container") words = words.subspan(1);
  if (words.empty() || words.front() != "run") return std::nullopt;
  return words.subspan(1);
}

// `docker --context x run ...`: options that choose the engine.
bool has_options_before_run(std::span<const std::string> words) {
  return !words.empty() && words.front().starts_with('-') &&
         std::ranges::find(words, "run") != words.end();
}

}  // namespace

bool can_begin_run_line(std::string_view word) {
  return is_engine(word) || program(word) == "sudo";
}

bool is_run_line(std::span<const std::string> words) {
  const Prefix prefix{words};
  if (prefix.rest.empty() || !is_engine(prefix.rest.front())) return false;
  const auto behind = prefix.rest.subspan(1);
  return behind_run(behind) || has_options_before_run(behind);
}

RunLine split_run_line(std::span<const std::string> words) {
  const Prefix prefix{words};
  if (prefix.rest.empty() || !is_engine(prefix.rest.front())) {
    refuse_word(prefix.rest.empty() ? "" : prefix.rest.front(), "it is not `docker` or `podman`",
                "give the whole line, from `docker run` on");
  }
  const auto behind = prefix.rest.subspan(1);
  if (has_options_before_run(behind)) {
    refuse_word(behind.front(), "a profile does not say which engine it runs on",
                "take it away, and choose the engine by DOCKER_HOST or DOCKER_CONTEXT");
  }
  const auto arguments = behind_run(behind);
  if (!arguments) {
    refuse_word(behind.empty() ? prefix.rest.front() : behind.front(),
                "only `docker run` and `podman run` start a container that a profile describes",
                "give the whole line, from `docker run` on");
  }
  return {.engine = std::string{program(prefix.rest.front())},
          .has_sudo = prefix.has_sudo,
          .variables = prefix.variables,
          .arguments = *arguments};
}

}  // namespace sparkrun::profile
