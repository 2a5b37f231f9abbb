// SPDX-License-Identifier: MIT
#pragma once

#include "base/toml.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace sparkrun::profile {

// Collects what is wrong with one file, so that its reader learns all of it at once.
class Faults {
 public:
  explicit Faults(std::string source_name) : source_name_(std::move(source_name)) {}

  void add(const TomlNode& where, const std::string& what);
  void add(int line, int column, const std::string& what);

  // `profile.invalid` with the faults in the order of the file, if there are any.
  void throw_if_any() const;

 private:
  std::string source_name_;
  std::vector<std::tuple<int, int, std::string>> faults_;
};

// Whether a text may span lines or hold other control characters: a script may, a path may not.
enum class Controls { refuse, allow };

// One table of a profile, read key by key; what nobody asked for is unknown. A key that is absent
// or faulty gives nothing.
class Section {
 public:
  // `name` as in `container`; empty for the root.
  Section(const TomlNode& table, std::string_view name, Faults& faults)
      : table_(table), name_(name), faults_(faults) {}

  // Any type; the caller judges it.
  const TomlNode* take(std::string_view key);
  const TomlNode* take(std::string_view key, TomlNode::Kind kind);
  std::optional<std::string> text(std::string_view key, Controls controls = Controls::refuse);
  std::optional<bool> boolean(std::string_view key);
  std::optional<long long> integer(std::string_view key);
  std::optional<std::vector<std::string>> texts(std::string_view key,
                                                Controls controls = Controls::refuse);

  // Faults every key that was not taken; `advice` may say more than "did you mean".
  void refuse_unknown(const std::function<std::string(std::string_view)>& advice = nullptr);

  // `container.ipc`: how messages name a key.
  [[nodiscard]] std::string label(std::string_view key) const;
  // The text of `node`, checked; nothing when it is not a string that can be used.
  std::optional<std::string> checked_text(const TomlNode& node, const std::string& label,
                                          Controls controls);
  void must_be(const TomlNode& node, const std::string& label, std::string_view wanted);
  [[nodiscard]] const TomlNode& table() const { return table_; }
  [[nodiscard]] Faults& faults() { return faults_; }

 private:
  const TomlNode& table_;
  std::string name_;
  Faults& faults_;
  std::vector<std::string> known_;
};

}  // namespace sparkrun::profile
