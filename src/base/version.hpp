// SPDX-License-Identifier: MIT
#pragma once

#include <compare>
#include <string>
#include <string_view>
#include <vector>

namespace sparkrun {

// A dotted version as drivers (580.95.05), CUDA (13.0.1) and image tags (25.09-py3) write them; not
// SemVer. Runs of digits compare as numbers, so 25.9 < 25.11; other text compares as text.
class Version {
 public:
  static Version parse(std::string_view text);

  [[nodiscard]] const std::string& to_string() const { return text_; }
  // The n-th number of the version, 0 when there are fewer.
  [[nodiscard]] long long number(size_t n) const;

  std::strong_ordering operator<=>(const Version& other) const;
  bool operator==(const Version& other) const { return (*this <=> other) == 0; }

 private:
  explicit Version(std::string text) : text_(std::move(text)) {}
  std::string text_;
};

}  // namespace sparkrun
