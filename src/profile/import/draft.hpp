// SPDX-License-Identifier: MIT
#pragma once

#include "profile/import/expansion.hpp"
#include "profile/import/facts.hpp"
#include "profile/profile.hpp"
#include "profile/words.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sparkrun::profile {

// A profile that an import is filling, with what is to be said about it.
class Draft {
 public:
  explicit Draft(const ImportFacts& import_facts) : facts(import_facts) {}

  Profile profile;
  std::vector<ImportNote> notes;
  const ImportFacts& facts;
  std::vector<std::string> secrets;  // values that the text says are some

  // Whether the text holds a token, a URL with a password, or one of `secrets`.
  [[nodiscard]] bool holds_secret(std::string_view text) const;

  void note(std::string text) { add({false, std::move(text)}); }
  void warn(std::string text) { add({true, std::move(text)}); }

  // The text without fallbacks: `${NAME:-x}` is `x` where nothing says more. What is left are names
  // of variables and what this host knows. Throws `import.inexpressible`, naming `word`.
  std::string settle(std::string_view word, std::string_view text);

  // For places where a profile expands nothing: what this host knows is filled in, with a note.
  // Throws `import.inexpressible` for the rest.
  std::string plain(std::string_view word, std::string_view text);

  // A path as a profile writes it: below the project `./..`, below the home folder `~/..`, with
  // `${NAME}`. Nothing where the text means something else to a profile than to docker (a literal
  // `~`).
  std::optional<std::string> path(std::string_view word, std::string_view text);

  // `--flag=value` in extra_args: for what has no key, or what a key cannot hold.
  void pass_through(const Word& word, const std::string& value);

 private:
  void add(ImportNote note);
  [[nodiscard]] std::string shareable(const fs::path& path, bool was_relative) const;
};

// `--flag VALUE` or the flag alone, for messages.
std::string shown_word(const Word& word);

}  // namespace sparkrun::profile
