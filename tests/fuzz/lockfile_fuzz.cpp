// SPDX-License-Identifier: MIT
#include "fuzz/support.hpp"
#include "lock/lockfile.hpp"

// The input is a lockfile: whoever edits one by hand, the canonical text keeps all that it says.
namespace sparkrun::fuzz {
namespace {

using lock::Lockfile;

std::variant<Lockfile, Error> parse(std::string_view text) {
  return outcome_of({"lock.conflict", "lock.invalid", "lock.newer"},
                    [&] { return Lockfile::parse(text, "p.lock"); });
}

void check(const Lockfile& lock) {
  expect(!lock.image.empty(), "a lock names its image");
  expect(lock.index || lock.platforms.size() == 1, "a lock pins something");
  const std::string text = lock.to_text();
  const auto again = parse(text);
  const auto* const read = std::get_if<Lockfile>(&again);
  expect(read != nullptr && *read == lock, "what is written reads back");
  expect(read->to_text() == text, "the canonical text stays as it is");
  expect(read->is_complete() == lock.is_complete(), "completeness");

  std::vector<std::string> platforms;
  for (const auto& [name, pin] : lock.platforms) {
    platforms.push_back(name);
    expect(pin.download_bytes >= -1, "sizes are known or not");
  }
  expect(lock::stale_reasons(lock, lock.image, platforms).empty(),
         "a lock is not stale for itself");
}

}  // namespace

void try_input(std::string_view input) {
  const auto outcome = parse(input);
  if (const auto* const lock = std::get_if<Lockfile>(&outcome)) return check(*lock);
  const Error& error = std::get<Error>(outcome);
  expect(std::string_view{error.what()}.starts_with("p.lock"), "an error names the file");
  for (const std::string& problem : error.problems()) {
    expect(problem.starts_with("p.lock:"), "so does each of its problems");
  }
}

}  // namespace sparkrun::fuzz
