// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace sparkrun {

// The exit codes of every command; `--help`, the man page and docs/ print this table.
enum class ExitCode : int {
  ok = 0,
  no = 1,
  usage = 2,
  stale = 3,
  invalid = 4,
  undetermined = 5,
  gone = 6,
  signature = 7,
  no_platform = 8,
  ledger = 9,
  engine = 10,
  blocked = 11,
  other_content = 12,
  bug = 70,
  interrupted = 130,
};

struct ExitCodeMeaning {
  ExitCode code;
  std::string_view meaning;
};
std::span<const ExitCodeMeaning> exit_code_meanings();

// The worse of two codes where a command answers for several things (a batch of references).
ExitCode worse(ExitCode a, ExitCode b);

// One row of the error table: everything about an id that does not depend on the occasion.
struct ErrorKind {
  std::string_view id;
  ExitCode exit_code;
  bool retry;                    // the same call may succeed later, with nothing changed
  std::string_view hint;         // what to do; `{name}` is filled from the error's details
  std::string_view explanation;  // what `sparkrun explain ID` prints
};
std::span<const ErrorKind> error_kinds();
const ErrorKind* find_error_kind(std::string_view id);

// "This command cannot go on." Thrown anywhere, caught once in cli/. An id that is not in the
// table is a bug and reported as such.
class Error : public std::runtime_error {
 public:
  using Details = std::map<std::string, std::string>;

  Error(std::string_view id, const std::string& message, Details details = {},
        std::vector<std::string> problems = {});

  [[nodiscard]] const ErrorKind& kind() const { return *kind_; }
  [[nodiscard]] std::string_view id() const { return kind_->id; }
  [[nodiscard]] ExitCode exit_code() const { return kind_->exit_code; }
  [[nodiscard]] const Details& details() const { return details_; }

  // Where one error stands for several faults (a profile with three unknown keys), all of them.
  [[nodiscard]] const std::vector<std::string>& problems() const { return problems_; }

  // What was going on, innermost first; added at boundaries only (per image, check, file).
  [[nodiscard]] const std::vector<std::string>& context() const { return context_; }
  void add_context(std::string doing) { context_.push_back(std::move(doing)); }

  [[nodiscard]] std::string hint() const;

 private:
  const ErrorKind* kind_;
  Details details_;
  std::vector<std::string> problems_;
  std::vector<std::string> context_;
};

// Runs `action`; an Error that leaves it carries `doing` ("locking profile `vllm`").
template <typename Action>
auto while_doing(const std::string& doing, Action&& action) {
  try {
    return action();
  } catch (Error& error) {
    error.add_context(doing);
    throw;
  }
}

}  // namespace sparkrun
