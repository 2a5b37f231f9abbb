// SPDX-License-Identifier: MIT
#include "profile/words.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace sparkrun::profile {
namespace {

class WordReader {
 public:
  explicit WordReader(std::span<const std::string> words) : words_(words) {}

  ReadWords read() {
    while (next_ < words_.size()) {
      const std::string& word = words_[next_];
      if (word.size() < 2 || word.front() != '-' || word == "--") break;
      at_ = next_++;
      if (word.starts_with("--"))
        read_long(word);
      else
        read_cluster(std::string_view{word}.substr(1));
    }
    result_.end = next_;
    return std::move(result_);
  }

 private:
  void read_long(const std::string& word) {
    const size_t equals = word.find('=');
    const std::string flag = word.substr(0, equals);
    const Option* const option = find_by_flag(flag);
    if (equals != std::string::npos)
      add(option, flag, word.substr(equals + 1));
    else
      add(option, flag, takes_value(option) ? next_word() : std::nullopt);
  }

  // `it`, `v/a:/b`, `e=NAME`: letters without a value until one takes all that follows.
  void read_cluster(std::string_view letters) {
    while (!letters.empty()) {
      const std::string flag{'-', letters.front()};
      const Option* const option = find_by_flag(flag);
      letters.remove_prefix(1);
      if (letters.starts_with('=')) {
        return add(option, flag, std::string{letters.substr(1)});
      }
      if (takes_value(option)) {
        return add(option, flag, letters.empty() ? next_word() : std::string{letters});
      }
      add(option, flag, std::nullopt);
    }
  }

  static bool takes_value(const Option* option) { return option && option->arity != Arity::flag; }

  std::optional<std::string> next_word() {
    return next_ < words_.size() ? std::optional{words_[next_++]} : std::nullopt;
  }

  void add(const Option* option, const std::string& flag, std::optional<std::string> value) {
    result_.options.push_back(
        {.option = option, .flag = flag, .value = std::move(value), .at = at_});
  }

  std::span<const std::string> words_;
  size_t next_ = 0;
  size_t at_ = 0;
  ReadWords result_;
};

}  // namespace

bool Word::is_on() const {
  // What Go's strconv.ParseBool takes for false; docker refuses to start with anything else.
  constexpr std::array off =
      std::to_array<std::string_view>({"0", "f", "F", "false", "FALSE", "False"});
  return !value || std::ranges::find(off, *value) == off.end();
}

ReadWords read_words(std::span<const std::string> words) { return WordReader{words}.read(); }

}  // namespace sparkrun::profile
