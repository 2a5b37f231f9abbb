// SPDX-License-Identifier: MIT
#pragma once

#include "sys/files.hpp"

#include <string>
#include <string_view>

namespace sparkrun::sys {

// A lock that all users of this machine share: a file that each of them may open. Whoever has the
// lock can write into the file what the others should know; what is read there may come from
// anybody.
class SharedLock {
 public:
  // Opens the file, or makes it so that everybody can. Throws `file.unwritable`.
  explicit SharedLock(fs::path path);

  // Whether it is ours now. It stays so until the last copy of the descriptor is closed, however
  // its owners end.
  bool try_take();
  // The first 4 KiB.
  [[nodiscard]] std::string content() const;
  // Where the file is another user's, who gave no leave to write, nothing happens.
  void set_content(std::string_view content);
  [[nodiscard]] int fd() const { return fd_.get(); }

 private:
  fs::path path_;
  FileDescriptor fd_;
};

}  // namespace sparkrun::sys
