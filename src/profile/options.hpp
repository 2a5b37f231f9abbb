// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sparkrun::profile {

// How a key of [container] becomes words of a command line.
enum class Arity {
  flag,   // `remove = true`              -> --rm
  value,  // `ipc = "host"`               -> --ipc=host or --ipc host
  list,   // `publish = ["8000:8000"]`    -> one --publish each
  table,  // `[container.ulimits]`        -> one --ulimit name=value each
};

// What the value of a flag may be; the words of a command line are text in any case.
enum class ValueKind {
  text,
  number,  // 512, -1, 1.5
  size,    // `16g`: bytes as docker reads them
};

enum class EngineSet { docker, podman, both };

// One row per `docker run` flag that a profile can express. Read by the profile reader, the argv
// writer, the command line, the lints and the trust gate, so that a flag is known everywhere or
// nowhere.
struct Option {
  std::string_view
      key;  // in [container]; empty where the flag has a place of its own (mounts, env, gpu)
  std::string_view flag;     // canonical long form with its dashes
  std::string_view aliases;  // other spellings, separated by blanks: `-u`
  Arity arity;
  EngineSet engines;
  // Name of the trust that any value (or a value that trust.cpp singles out) asks for; empty:
  // harmless.
  std::string_view risk;
  // Also given to the short container that looks at the image before the job starts.
  bool is_for_probe = false;
  ValueKind kind = ValueKind::text;
  // Of a flag: what the engine does when it is not given. Only the other state is worth a word.
  bool is_on_by_default = false;
};

// In the order in which flags are written.
std::span<const Option> options();
const Option* find_by_key(std::string_view key);
// With its dashes, canonical or alias.
const Option* find_by_flag(std::string_view spelling);

struct OptionValue {
  const Option* option;
  // flag: none, or `false` where it is on by default; value: one; list: each; table: `name=value`
  // each
  std::vector<std::string> values;
};

}  // namespace sparkrun::profile
