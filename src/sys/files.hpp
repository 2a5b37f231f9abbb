// SPDX-License-Identifier: MIT
#pragma once

#include "base/time.hpp"

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <utility>
#include <vector>

namespace sparkrun::sys {

namespace fs = std::filesystem;

constexpr size_t file_bytes_max = size_t{16} << 20;  // what we read whole: profiles, locks, configs

// Owns a descriptor. -1 is "none".
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept;
  ~FileDescriptor();

  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool is_open() const { return fd_ >= 0; }
  void close();

 private:
  int fd_ = -1;
};

// The whole file; nothing when it does not exist. Throws `file.unreadable` (also for a directory
// and for more than `bytes_max` bytes).
std::optional<std::string> read_file(const fs::path& path, size_t bytes_max = file_bytes_max);

// Of a small file that this machine tells something in: what cannot be read is unknown, and empty.
std::string read_fact(const fs::path& path);

// Temporary file in the same folder, fsync, rename, fsync of the folder: a reader sees the old
// bytes or the new ones, also after a crash. Follows a symbolic link; a file that is there keeps
// its mode, a new one gets `mode` less the umask. What is not a regular file (a pipe, /dev/stderr)
// is simply written to. Throws `file.unwritable`.
void write_file_atomically(const fs::path& path, std::string_view content, mode_t mode = 0644);

// A file that grows beside its place, where it can without a name, and appears there, whole and
// durable, with `commit`. Without that nothing stays of it. Everything throws `file.unwritable`.
class PendingFile {
 public:
  explicit PendingFile(fs::path target);
  PendingFile(const PendingFile&) = delete;
  PendingFile& operator=(const PendingFile&) = delete;
  ~PendingFile();

  void write(std::string_view bytes);
  void restart();  // empty again
  // With exactly this mode.
  void commit(mode_t mode);

 private:
  void give_name();

  fs::path target_;
  std::string path_;  // the temporary name; empty: none, or committed
  FileDescriptor fd_;
  long long written_ = 0;
};

// `mode` less the umask of this process.
mode_t masked(mode_t mode);

// Gives a regular file piece by piece, however large it is. Throws `file.unreadable`.
void read_in_pieces(const fs::path& path, const std::function<void(std::string_view)>& on_piece);

// The size of a regular file (links are followed); nothing when there is none.
std::optional<long long> regular_file_size(const fs::path& path);

// A folder of this process's own below `parent`, gone with all that is in it at the end.
class TemporaryFolder {
 public:
  // Throws `file.unwritable`.
  explicit TemporaryFolder(const fs::path& parent);
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder();
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// Keeps others who ask for the same out of a folder until the descriptor is closed. Throws
// `file.unwritable`, also when somebody else has it.
FileDescriptor lock_folder(const fs::path& folder);

// The same; closed where somebody else has it or there is no such folder.
FileDescriptor try_lock_folder(const fs::path& folder);

// The same, as soon as nobody else has it.
FileDescriptor wait_for_folder(const fs::path& folder);

// Makes a symbolic link. Throws `file.unwritable`.
void make_link(const fs::path& target, const fs::path& link);

// Writes all of `bytes` or throws `file.unwritable` naming `path`.
void write_all(int fd, std::string_view bytes, const fs::path& path);

// Makes the names in a folder durable, as far as its file system can.
void sync_folder(const fs::path& folder);

// Creates what is missing of `path`, each new folder with `mode`, durably. Throws
// `file.unwritable`.
void make_directories(const fs::path& path, mode_t mode);

// Names (not paths) of the regular files, or of the folders, in a folder, sorted; empty when there
// is no such folder. Throws `file.unreadable`: what may not be looked at is not the same as empty.
std::vector<std::string> list_files(const fs::path& folder);
std::vector<std::string> list_folders(const fs::path& folder);

enum class Access { absent, denied, granted };
// Whether this process may read and write what is there.
Access access_to(const fs::path& path);

// An absolute path without symbolic links, as far as it exists, those followed whose end is
// missing; nothing where a link leads to where this user may not look.
std::optional<fs::path> resolve_links(const fs::path& path);

// Where a path leads, links followed, also when nothing is there yet.
fs::path real_path(const fs::path& path);

// Bytes that this user may still write to the file system where `path` is or would be; nothing when
// it cannot be told.
std::optional<long long> free_bytes(const fs::path& path);

// Removes a file; one that is not there is fine, and so is one that will not go.
void remove_file(const fs::path& path);

// Whether a descriptor is of what is there.
bool is_open_at(int fd, const fs::path& path);

// When a file was written last; nothing when there is none.
std::optional<TimePoint> modified(const fs::path& path);

// Whether something is there; an unreadable parent counts as "no".
bool path_exists(const fs::path& path);
// Whether the name is taken, if only by a link that leads nowhere.
bool is_taken(const fs::path& path);
bool is_folder(const fs::path& path);

}  // namespace sparkrun::sys
