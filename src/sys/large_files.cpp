// SPDX-License-Identifier: MIT
// The part of files.hpp that is about files too large for memory, and folders for a while.
#include "base/error.hpp"
#include "sys/files.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sparkrun::sys {
namespace {

constexpr size_t piece_bytes = size_t{1} << 20;
// So much is handed to the disk at once, so that the last sync has little left to wait for.
constexpr long long writeback_bytes = 16LL << 20;
constexpr int names_max = 100;

[[noreturn]] void fail(std::string_view id, std::string_view verb, const fs::path& path, int code) {
  throw Error{id,
              fmt::format("cannot {} {}: {}", verb, path.string(), std::strerror(code)),
              {{"path", path.string()}}};
}

}  // namespace

// A file without a name goes with its writer, even one that is killed. Where the file system knows
// none of these it has a name from the start.
PendingFile::PendingFile(fs::path target) : target_(std::move(target)) {
  const fs::path folder = target_.has_parent_path() ? target_.parent_path() : ".";
  if (path_exists("/proc/self/fd")) {
    fd_ = FileDescriptor{open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600)};
  }
  if (fd_.is_open()) return;
  path_ = target_.string() + ".XXXXXX";
  fd_ = FileDescriptor{mkostemp(path_.data(), O_CLOEXEC)};
  if (fd_.is_open()) return;
  path_.clear();
  fail("file.unwritable", "write", target_, errno);
}

PendingFile::~PendingFile() {
  if (!path_.empty()) unlink(path_.c_str());
}

void PendingFile::write(std::string_view bytes) {
  write_all(fd_.get(), bytes, target_);
  const long long before = written_;
  written_ += static_cast<long long>(bytes.size());
  if (before / writeback_bytes != written_ / writeback_bytes) {
    sync_file_range(fd_.get(), 0, 0, SYNC_FILE_RANGE_WRITE);
  }
}

void PendingFile::restart() {
  if (written_ == 0) return;
  if (ftruncate(fd_.get(), 0) != 0 || lseek(fd_.get(), 0, SEEK_SET) != 0) {
    fail("file.unwritable", "write", target_, errno);
  }
  written_ = 0;
}

// open(2), O_TMPFILE: a link to the descriptor's own entry in /proc.
void PendingFile::give_name() {
  const std::string self = fmt::format("/proc/self/fd/{}", fd_.get());
  for (int i = 0; i < names_max; ++i) {
    std::string name = fmt::format("{}.{}-{}", target_.string(), getpid(), i);
    if (linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0) {
      path_ = std::move(name);
      return;
    }
    if (errno != EEXIST) break;
  }
  fail("file.unwritable", "write", target_, errno);
}

void PendingFile::commit(mode_t mode) {
  if (fchmod(fd_.get(), mode) != 0 || fsync(fd_.get()) != 0) {
    fail("file.unwritable", "write", target_, errno);
  }
  if (path_.empty()) give_name();
  if (rename(path_.c_str(), target_.c_str()) != 0) {
    fail("file.unwritable", "write", target_, errno);
  }
  path_.clear();
  sync_folder(target_.has_parent_path() ? target_.parent_path() : ".");
}

mode_t masked(mode_t mode) {
  const mode_t mask = umask(0);
  umask(mask);
  return mode & ~mask;
}

void read_in_pieces(const fs::path& path, const std::function<void(std::string_view)>& on_piece) {
  // Asked before it is opened, which can do things to a device.
  if (!regular_file_size(path)) {
    throw Error{"file.unreadable",
                fmt::format("cannot read {}: not a regular file", path.string()),
                {{"path", path.string()}}};
  }
  const FileDescriptor fd{open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (!fd.is_open()) fail("file.unreadable", "read", path, errno);
  const auto buffer = std::make_unique<char[]>(piece_bytes);
  while (true) {
    const ssize_t got = read(fd.get(), buffer.get(), piece_bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail("file.unreadable", "read", path, errno);
    if (got == 0) return;
    on_piece({buffer.get(), static_cast<size_t>(got)});
  }
}

std::optional<long long> regular_file_size(const fs::path& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return status.st_size;
}

TemporaryFolder::TemporaryFolder(const fs::path& parent) {
  std::string path = (parent / "sparkrun-XXXXXX").string();
  if (mkdtemp(path.data()) == nullptr) fail("file.unwritable", "write to", parent, errno);
  path_ = path;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

FileDescriptor lock_folder(const fs::path& folder) {
  FileDescriptor fd{open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (!fd.is_open()) fail("file.unwritable", "write to", folder, errno);
  if (flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return fd;
  if (errno != EWOULDBLOCK) fail("file.unwritable", "lock", folder, errno);
  throw Error{"file.unwritable",
              fmt::format("another sparkrun is writing to {}", folder.string()),
              {{"path", folder.string()}}};
}

FileDescriptor try_lock_folder(const fs::path& folder) {
  FileDescriptor fd{open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (fd.is_open() && flock(fd.get(), LOCK_EX | LOCK_NB) != 0) fd.close();
  return fd;
}

FileDescriptor wait_for_folder(const fs::path& folder) {
  FileDescriptor fd{open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (!fd.is_open() || flock(fd.get(), LOCK_EX) != 0) {
    fail("file.unwritable", "lock", folder, errno);
  }
  return fd;
}

void make_link(const fs::path& target, const fs::path& link) {
  if (symlink(target.c_str(), link.c_str()) != 0) fail("file.unwritable", "create", link, errno);
}

}  // namespace sparkrun::sys
