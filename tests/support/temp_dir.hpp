// SPDX-License-Identifier: MIT
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>

namespace sparkrun::test {

namespace fs = std::filesystem;

// A folder of the test's own, gone with all that is in it when the test ends.
class TempDir {
 public:
  TempDir() {
    std::string pattern = (fs::temp_directory_path() / "sparkrun-test-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error{"no temporary folder"};
    path_ = fs::canonical(pattern);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  ~TempDir() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }

  [[nodiscard]] const fs::path& path() const { return path_; }

  // Makes the folder with those above it.
  fs::path make(const fs::path& below) const {
    fs::create_directories(path_ / below);
    return path_ / below;
  }

  // Writes a file with the folders above it.
  fs::path write(const fs::path& below, std::string_view content) const {
    const fs::path file = path_ / below;
    fs::create_directories(file.parent_path());
    std::ofstream{file, std::ios::binary} << content;
    return file;
  }

  // The bytes of a file; empty when there is none.
  [[nodiscard]] std::string read(const fs::path& below) const {
    std::ifstream file{path_ / below, std::ios::binary};
    return {std::istreambuf_iterator<char>{file}, {}};
  }

 private:
  fs::path path_;
};

inline fs::path operator/(const TempDir& folder, const fs::path& below) {
  return folder.path() / below;
}

}  // namespace sparkrun::test
