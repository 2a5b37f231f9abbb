// SPDX-License-Identifier: MIT
#include "profile/container_reader.hpp"

#include "base/secret.hpp"
#include "base/text.hpp"
#include "profile/values.hpp"
#include "profile/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

namespace sparkrun::profile {
namespace {

using Kind = TomlNode::Kind;

// Options that would contradict what sparkrun does with the container, or that it has to know of:
// written as words they would go by unseen.
constexpr std::array options_of_sparkrun = std::to_array<std::string_view>(
    {"--detach", "--cidfile", "--name", "--platform", "--arch", "--os", "--help"});

// For the spelling of docker (`rm`), and for flags that have a place of their own.
std::string advice(std::string_view key) {
  std::string flag{key};
  std::ranges::replace(flag, '_', '-');
  const Option* option = find_by_flag("--" + flag);
  if (option == nullptr && key.size() == 1) option = find_by_flag("-" + flag);
  if (option == nullptr) return "";
  if (!option->key.empty()) return fmt::format(" (did you mean `{}`?)", option->key);
  if (option->flag == "--gpus") return " (see [gpu])";
  if (option->flag == "--volume" || option->flag == "--mount") {
    return " (mounts are written [[mount]])";
  }
  if (option->flag == "--env") return " (see [env] and `env_from_host`)";
  if (option->flag == "--platform") return " (see `platforms`)";
  return fmt::format(" (`{}` is decided by each `sparkrun run`)", option->flag);
}

// The value of a flag that takes one, as a word; what is faulty is reported.
std::optional<std::string> read_value(Section& section, const Option& option,
                                      const TomlNode& node) {
  const std::string label = section.label(option.key);
  const bool is_number_node = node.kind == Kind::integer || node.kind == Kind::real;
  std::optional<std::string> text;
  if (option.kind == ValueKind::number && is_number_node) {
    text = node.kind == Kind::integer ? std::to_string(node.integer) : fmt::format("{}", node.real);
  } else if (option.kind == ValueKind::text || node.kind == Kind::string) {
    text = section.checked_text(node, label, Controls::refuse);
  } else {
    const bool is_size_wanted = option.kind == ValueKind::size;
    section.must_be(node, label, is_size_wanted ? "a string such as \"16g\"" : "a number");
  }
  if (!text) return std::nullopt;
  const bool is_unlimited = option.key == "memory_swap" && *text == "-1";
  if (text->empty() && option.key != "entrypoint") {
    section.faults().add(
        node, fmt::format("`{}` is empty; leave it out for the engine's default", label));
  } else if (option.kind == ValueKind::size && !is_size(*text) && !is_unlimited) {
    section.faults().add(node,
                         fmt::format("`{}` must be a size such as 16g, not `{}`", label, *text));
  } else if (option.kind == ValueKind::number && !is_number(*text)) {
    section.faults().add(node, fmt::format("`{}` must be a number, not `{}`", label, *text));
  }
  return text;
}

// By them a run is known to be one, and which.
bool is_own_label(std::string_view label) { return label.starts_with("dev.sparkrun."); }

// `1024`, `-1`, `1024:2048`; `max` for what an engine may lock.
bool is_limit(std::string_view name, std::string_view value) {
  const auto [soft, hard] = split_once(value, ':');
  const bool has_hard = soft.size() < value.size();
  return (name == "memlock" && value == "max") ||
         (is_number(soft) && soft.find('.') == std::string_view::npos &&
          (!has_hard || (is_number(hard) && hard.find('.') == std::string_view::npos)));
}

// `[container.ulimits]` -> `memlock=-1`, ...
std::vector<std::string> read_pairs(Section& section, const Option& option) {
  std::vector<std::string> pairs;
  const TomlNode* const table = section.take(option.key, Kind::table);
  if (table == nullptr) return pairs;
  for (const auto& [name, node] : table->entries) {
    const std::string label = fmt::format("{}.{}", section.label(option.key), name);
    if (!is_plain_name(name)) {
      section.faults().add(
          node, fmt::format("`{}` cannot be a name in `{}`", name, section.label(option.key)));
    } else if (option.flag == "--label" && is_own_label(name)) {
      section.faults().add(node, fmt::format("`{}`: labels that begin with dev.sparkrun. are "
                                             "sparkrun's own",
                                             label));
    } else if (node.kind == Kind::integer) {
      pairs.push_back(fmt::format("{}={}", name, node.integer));
    } else if (node.kind != Kind::string) {
      section.must_be(node, label, "a string or a whole number");
    } else if (const auto value = section.checked_text(node, label, Controls::refuse)) {
      if (option.flag == "--ulimit" && !is_limit(name, *value)) {
        section.faults().add(
            node, fmt::format("`{}` must be a number or SOFT:HARD, not `{}`", label, *value));
      }
      pairs.push_back(fmt::format("{}={}", name, *value));
    }
  }
  return pairs;
}

// Nothing when the option is not to be written.
std::optional<OptionValue> read_option(Section& section, const Option& option) {
  const TomlNode* const node = section.take(option.key);
  if (node == nullptr) return std::nullopt;
  OptionValue value{.option = &option};
  switch (option.arity) {
    case Arity::flag: {
      const bool is_on = section.boolean(option.key).value_or(option.is_on_by_default);
      if (is_on == option.is_on_by_default) return std::nullopt;
      if (option.is_on_by_default) value.values = {"false"};
      return value;
    }
    case Arity::value:
      if (auto text = read_value(section, option, *node)) value.values = {std::move(*text)};
      break;
    case Arity::list:
      value.values = section.texts(option.key).value_or(value.values);
      break;
    case Arity::table:
      value.values = read_pairs(section, option);
      break;
  }
  return value.values.empty() ? std::nullopt : std::optional{value};
}

std::string fault_of_word(const Word& word) {
  const std::string text = word.value.value_or("");
  const auto [name, value] = split_once(text, '=');
  if (word.lacks_value()) return fmt::format("`{}` lacks its value", word.flag);
  if (!word.option) return "";
  const std::string_view flag = word.option->flag;
  if (flag == "--env" && is_secret(name, value)) {
    return fmt::format("`{}` looks like a secret; name it in `env_from_host`", name);
  }
  if (flag == "--label" && is_own_label(text)) {
    return fmt::format("`{}`: labels that begin with dev.sparkrun. are sparkrun's own", name);
  }
  if (std::ranges::find(options_of_sparkrun, flag) == options_of_sparkrun.end()) return "";
  const std::string_view key = word.option->key;
  return fmt::format("`{}`: {}", word.flag,
                     key.empty() ? "sparkrun decides it for each run"
                                 : fmt::format("write `{}` in [container]", key));
}

}  // namespace

std::vector<std::string> faults_of_words(const std::vector<std::string>& words) {
  std::vector<std::string> faults;
  const ReadWords read = read_words(words);
  for (const Word& word : read.options) {
    if (std::string fault = fault_of_word(word); !fault.empty()) faults.push_back(std::move(fault));
  }
  if (read.end < words.size()) {
    faults.push_back(
        fmt::format("`{}` is no option; write `--flag=value` as one word", words[read.end]));
  }
  return faults;
}

ContainerFlags read_container(const TomlNode& table, Faults& faults) {
  ContainerFlags flags;
  Section section{table, "container", faults};
  for (const Option& option : options()) {
    if (option.key.empty()) continue;
    if (auto value = read_option(section, option)) flags.options.push_back(std::move(*value));
  }
  if (auto words = section.texts("extra_args", Controls::allow)) {
    for (const std::string& fault : faults_of_words(*words))
      faults.add(*table.find("extra_args"), "in `container.extra_args`, " + fault);
    flags.extra_args = std::move(*words);
  }
  section.refuse_unknown(advice);
  return flags;
}

}  // namespace sparkrun::profile
