// SPDX-License-Identifier: MIT
#include "sys/files.hpp"

#include "base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace sparkrun::sys {
namespace {

[[noreturn]] void fail(std::string_view id, std::string_view verb, const fs::path& path, int code) {
  throw Error{id,
              fmt::format("cannot {} {}: {}", verb, path.string(), std::strerror(code)),
              {{"path", path.string()}}};
}

// Where a chain of symbolic links leads, also when nothing is there yet.
fs::path follow_links(fs::path path) {
  constexpr int links_max = 40;  // as the kernel has it
  std::error_code failure;
  for (int i = 0; i < links_max && fs::is_symlink(path, failure); ++i) {
    const fs::path target = fs::read_symlink(path, failure);
    if (failure) break;
    path = target.is_absolute() ? target : path.parent_path() / target;
  }
  return path;
}

void write_in_place(const fs::path& path, std::string_view content) {
  const FileDescriptor fd{open(path.c_str(), O_WRONLY | O_CLOEXEC)};
  if (!fd.is_open()) fail("file.unwritable", "write", path, errno);
  write_all(fd.get(), content, path);
}

std::vector<std::string> list(const fs::path& folder,
                              const std::function<bool(const fs::directory_entry&)>& is_wanted) {
  std::vector<std::string> names;
  std::error_code failure;
  for (fs::directory_iterator entry{folder, failure}, end; !failure && entry != end;
       entry.increment(failure)) {
    if (is_wanted(*entry)) names.push_back(entry->path().filename().string());
  }
  const bool is_absent =
      failure == std::errc::no_such_file_or_directory || failure == std::errc::not_a_directory;
  if (failure && !is_absent) fail("file.unreadable", "list", folder, failure.value());
  std::ranges::sort(names);
  return names;
}

}  // namespace

FileDescriptor& FileDescriptor::operator=(FileDescriptor&& other) noexcept {
  if (this != &other) {
    close();
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

FileDescriptor::~FileDescriptor() { close(); }

void FileDescriptor::close() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

std::optional<std::string> read_file(const fs::path& path, size_t bytes_max) {
  // Without O_NONBLOCK the open of a FIFO would wait for a writer, deaf to signals.
  const FileDescriptor fd{open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (!fd.is_open()) {
    if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
    fail("file.unreadable", "read", path, errno);
  }
  struct stat status {};
  if (fstat(fd.get(), &status) != 0) fail("file.unreadable", "read", path, errno);
  if (S_ISDIR(status.st_mode)) fail("file.unreadable", "read", path, EISDIR);
  if (!S_ISREG(status.st_mode)) {
    throw Error{"file.unreadable",
                fmt::format("cannot read {}: not a regular file", path.string()),
                {{"path", path.string()}}};
  }
  std::string content;
  std::array<char, 65536> buffer;
  while (true) {
    const ssize_t got = read(fd.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail("file.unreadable", "read", path, errno);
    if (got == 0) return content;
    content.append(buffer.data(), static_cast<size_t>(got));
    if (content.size() > bytes_max) fail("file.unreadable", "read", path, EFBIG);
  }
}

void write_all(int fd, std::string_view bytes, const fs::path& path) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("file.unwritable", "write", path, errno);
    bytes.remove_prefix(static_cast<size_t>(written));
  }
}

std::string read_fact(const fs::path& path) {
  constexpr size_t bytes_max = 1 << 20;
  try {
    return read_file(path, bytes_max).value_or("");
  } catch (const Error&) {
    return {};
  }
}

void write_file_atomically(const fs::path& path, std::string_view content, mode_t mode) {
  const fs::path real = follow_links(path);
  struct stat old {};
  const bool is_there = stat(real.c_str(), &old) == 0;
  if (is_there && !S_ISREG(old.st_mode)) return write_in_place(path, content);

  PendingFile pending{real};
  pending.write(content);
  pending.commit(is_there ? old.st_mode & 07777 : masked(mode));
}

void sync_folder(const fs::path& folder) {
  const FileDescriptor fd{
      open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  // A folder that cannot be opened or synced (some network file systems) still holds the new name.
  if (fd.is_open()) fsync(fd.get());
}

void make_directories(const fs::path& path, mode_t mode) {
  if (path.empty() || is_folder(path)) return;
  make_directories(path.parent_path(), mode);
  if (mkdir(path.c_str(), mode) != 0 && errno != EEXIST)
    fail("file.unwritable", "create", path, errno);
  if (!is_folder(path)) fail("file.unwritable", "create", path, ENOTDIR);
  sync_folder(path.parent_path());
}

std::vector<std::string> list_files(const fs::path& folder) {
  return list(folder, [](const fs::directory_entry& entry) {
    std::error_code unknown;
    return entry.is_regular_file(unknown);
  });
}

std::vector<std::string> list_folders(const fs::path& folder) {
  return list(folder, [](const fs::directory_entry& entry) {
    std::error_code unknown;
    return entry.is_directory(unknown);
  });
}

Access access_to(const fs::path& path) {
  if (access(path.c_str(), R_OK | W_OK) == 0) return Access::granted;
  return errno == EACCES || errno == EPERM ? Access::denied : Access::absent;
}

std::optional<long long> free_bytes(const fs::path& path) {
  struct statvfs info {};
  for (fs::path place = path; !place.empty(); place = place.parent_path()) {
    if (statvfs(place.c_str(), &info) == 0) {
      return static_cast<long long>(info.f_bavail) * static_cast<long long>(info.f_frsize);
    }
    if (place == place.parent_path()) break;
  }
  return std::nullopt;
}

void remove_file(const fs::path& path) {
  std::error_code ignored;
  fs::remove(path, ignored);
}

fs::path real_path(const fs::path& path) {
  std::error_code failure;
  const fs::path end = follow_links(path);
  const fs::path folder = end.has_parent_path() ? end.parent_path() : ".";
  return fs::weakly_canonical(folder, failure) / end.filename();
}

// Not fs::weakly_canonical: that one takes a link whose end is missing for a missing file, and the
// engine creates what is missing where the link leads.
std::optional<fs::path> resolve_links(const fs::path& path) {
  constexpr int links_max = 40;  // Linux' own limit (path_resolution(7))
  fs::path real = "/";
  std::vector<fs::path> left;  // the next component last
  const auto push = [&](const fs::path& more) {
    const std::vector<fs::path> parts{more.begin(), more.end()};
    left.insert(left.end(), parts.rbegin(), parts.rend());
  };
  push(path);
  for (int links = 0; !left.empty();) {
    const fs::path part = left.back();
    left.pop_back();
    if (part.is_absolute()) {
      real = "/";
    } else if (part == "..") {
      real = real.parent_path();
    } else if (!part.empty() && part != ".") {
      std::error_code failure;
      const fs::path next = real / part;
      const fs::file_type type = fs::symlink_status(next, failure).type();
      if (type == fs::file_type::none) return std::nullopt;
      if (type != fs::file_type::symlink) {
        real = next;
        continue;
      }
      const fs::path end = fs::read_symlink(next, failure);
      if (failure || ++links > links_max) return std::nullopt;
      push(end);
    }
  }
  return real;
}

bool is_open_at(int fd, const fs::path& path) {
  struct stat ours {
  }, there{};
  return fstat(fd, &ours) == 0 && stat(path.c_str(), &there) == 0 && ours.st_dev == there.st_dev &&
         ours.st_ino == there.st_ino;
}

std::optional<TimePoint> modified(const fs::path& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return std::nullopt;
  return TimePoint{std::chrono::milliseconds{status.st_mtim.tv_sec * 1000LL +
                                             status.st_mtim.tv_nsec / 1'000'000}};
}

bool path_exists(const fs::path& path) {
  std::error_code failure;
  return fs::exists(path, failure);
}

bool is_taken(const fs::path& path) {
  std::error_code failure;
  return fs::exists(fs::symlink_status(path, failure));
}

bool is_folder(const fs::path& path) {
  std::error_code failure;
  return fs::is_directory(path, failure);
}

}  // namespace sparkrun::sys
