// SPDX-License-Identifier: MIT
#include "sys/shared_lock.hpp"

#include "base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sparkrun::sys {
namespace {

constexpr int flags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;

[[noreturn]] void fail(const fs::path& path, const std::string& why) {
  throw Error{"file.unwritable",
              fmt::format("cannot lock {}: {}", path.string(), why),
              {{"path", path.string()}}};
}

FileDescriptor open_or_make(const fs::path& path) {
  constexpr mode_t for_all = 0666;
  // The kernel refuses O_CREAT for what another user has in /run/lock (fs.protected_regular), so a
  // file that is there is opened without it.
  FileDescriptor fd{open(path.c_str(), O_RDWR | flags)};
  if (!fd.is_open() && errno == ENOENT) {
    fd = FileDescriptor{open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | flags, for_all)};
    if (fd.is_open()) {
      fchmod(fd.get(), for_all);   // whatever our umask is
    } else if (errno == EEXIST) {  // somebody was faster
      fd = FileDescriptor{open(path.c_str(), O_RDWR | flags)};
    }
  }
  if (!fd.is_open() && errno == EACCES) fd = FileDescriptor{open(path.c_str(), O_RDONLY | flags)};
  return fd;
}

}  // namespace

SharedLock::SharedLock(fs::path path) : path_(std::move(path)), fd_(open_or_make(path_)) {
  if (!fd_.is_open()) fail(path_, std::strerror(errno));
  struct stat status {};
  if (fstat(fd_.get(), &status) != 0 || !S_ISREG(status.st_mode)) fail(path_, "it is no file");
}

bool SharedLock::try_take() {
  if (flock(fd_.get(), LOCK_EX | LOCK_NB) == 0) return true;
  if (errno != EWOULDBLOCK && errno != EINTR) fail(path_, std::strerror(errno));
  return false;
}

std::string SharedLock::content() const {
  std::array<char, 4096> buffer;
  const ssize_t got = pread(fd_.get(), buffer.data(), buffer.size(), 0);
  return {buffer.data(), static_cast<size_t>(std::max<ssize_t>(got, 0))};
}

void SharedLock::set_content(std::string_view content) {
  if (pwrite(fd_.get(), content.data(), content.size(), 0) == static_cast<ssize_t>(content.size()))
    static_cast<void>(ftruncate(fd_.get(), static_cast<off_t>(content.size())) == 0);
}

}  // namespace sparkrun::sys
