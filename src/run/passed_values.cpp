// SPDX-License-Identifier: MIT
#include "run/passed_values.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "profile/words.hpp"
#include "sys/files.hpp"

namespace sparkrun::run {
namespace {

namespace fs = std::filesystem;

class Values {
 public:
  explicit Values(const sys::Environment& environment) : environment_(environment) {}

  void add_variable(std::string_view name) {
    if (const auto value = environment_.get(name)) values_.push_back(*value);
  }

  void add_file(const fs::path& path) { values_.push_back(content(path)); }

  // Lines of NAME=VALUE, or of NAME for a variable of the host (docker run, --env-file).
  void add_env_file(const fs::path& path) {
    const std::string text = content(path);
    for (const std::string_view line : split(text, '\n')) {
      const size_t equals = line.find('=');
      if (equals == std::string_view::npos)
        add_variable(trim(line));
      else
        values_.emplace_back(line.substr(equals + 1));
    }
  }

  std::vector<std::string> take() { return std::move(values_); }

 private:
  [[nodiscard]] std::string content(const fs::path& path) const {
    try {
      return sys::read_file(environment_.working_directory / path).value_or("");
    } catch (const Error&) {
      return {};
    }
  }

  const sys::Environment& environment_;
  std::vector<std::string> values_;
};

}  // namespace

std::vector<std::string> passed_values(const plan::RunPlan& plan,
                                       const sys::Environment& environment) {
  Values values{environment};
  for (const std::string& name : plan.host_variables) values.add_variable(name);
  for (const auto& [name, path] : plan.file_variables) {
    values.add_variable(name);
    values.add_file(path);
  }
  for (const profile::OptionValue& value : plan.container) {
    if (value.option->flag != "--env-file") continue;
    for (const std::string& file : value.values) values.add_env_file(file);
  }
  for (const profile::Word& word : profile::read_words(plan.extra_args).options) {
    if (word.option == nullptr || !word.value) continue;
    if (word.option->flag == "--env-file") values.add_env_file(*word.value);
    // What is written with its value is in the record anyway.
    const bool is_by_name = word.value->find('=') == std::string::npos;
    if (word.option->flag == "--env" && is_by_name) values.add_variable(*word.value);
  }
  return values.take();
}

}  // namespace sparkrun::run
