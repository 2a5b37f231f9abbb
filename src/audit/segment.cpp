// SPDX-License-Identifier: MIT
#include "audit/segment.hpp"

#include "base/digest.hpp"
#include "base/error.hpp"
#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <ranges>
#include <sys/stat.h>
#include <unistd.h>

namespace sparkrun::audit {
namespace {

constexpr size_t chunk_bytes = size_t{1} << 20;
constexpr size_t first_window_bytes = size_t{64} << 10;

[[noreturn]] void fail_to_read(const fs::path& path, int code) {
  throw Error{"file.unreadable",
              fmt::format("cannot read {}: {}", path.string(), std::strerror(code)),
              {{"path", path.string()}}};
}

[[noreturn]] void fail_to_append(const fs::path& path, int code) {
  throw Error{"ledger.unwritable",
              fmt::format("cannot append to the ledger {}: {}", path.string(), std::strerror(code)),
              {{"path", path.string()}}};
}

sys::FileDescriptor open_to_read(const fs::path& path) {
  sys::FileDescriptor fd{open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (!fd.is_open()) fail_to_read(path, errno);
  return fd;
}

// Up to `bytes` from `offset`; fewer only at the end of the file.
std::string read_at(int fd, const fs::path& path, off_t offset, size_t bytes) {
  std::string content(bytes, '\0');
  size_t filled = 0;
  while (filled < bytes) {
    const ssize_t got =
        pread(fd, content.data() + filled, bytes - filled, offset + static_cast<off_t>(filled));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_to_read(path, errno);
    if (got == 0) break;
    filled += static_cast<size_t>(got);
  }
  content.resize(filled);
  return content;
}

bool is_segment_name(std::string_view name) {
  return name.size() == 13 && name[4] == '-' && name.ends_with(".jsonl") &&
         parse_number(name.substr(0, 4)) && parse_number(name.substr(5, 2));
}

// The last lines of one segment, read backwards until they include a record.
class SegmentEnd {
 public:
  explicit SegmentEnd(fs::path path) : path_(std::move(path)), fd_(open_to_read(path_)) {
    struct stat status {};
    if (fstat(fd_.get(), &status) != 0) fail_to_read(path_, errno);
    size_ = static_cast<size_t>(status.st_size);
  }

  [[nodiscard]] bool is_empty() const { return size_ == 0; }

  // Adds what this segment holds behind its last record to `tail`; true when it holds a record.
  bool search(Tail& tail) const {
    for (size_t window = first_window_bytes;; window *= 2) {
      const size_t bytes = std::min(window, size_);
      const std::string text = read_at(fd_.get(), path_, static_cast<off_t>(size_ - bytes), bytes);
      Tail found = tail;
      if (search_window(text, bytes == size_, found)) {
        tail = found;
        return true;
      }
      if (bytes == size_) {
        tail = found;
        return false;
      }
      if (window >= tail_bytes_max) {
        throw Error{"ledger.broken",
                    fmt::format("the last {} of {} hold no record", human_bytes(tail_bytes_max),
                                path_.string()),
                    {{"path", path_.string()}}};
      }
    }
  }

 private:
  static bool search_window(std::string_view text, bool is_whole_file, Tail& tail) {
    const bool has_newline = text.ends_with('\n');
    if (has_newline) text.remove_suffix(1);
    if (!is_whole_file) {  // the first line of a window may lack its beginning
      const size_t first = text.find('\n');
      if (first == std::string_view::npos) return false;
      text.remove_prefix(first + 1);
    }
    const bool is_first = tail.newest.empty();
    if (is_first) tail.has_newline = has_newline;
    bool is_last_line = is_first;
    for (const std::string_view line : split(text, '\n') | std::views::reverse) {
      const std::string hash = sha256_hex(line);
      if (std::exchange(is_last_line, false)) tail.line_hash = hash;
      if (const auto header = parse_header(line)) {
        tail.record = {header->seq, hash};
        return true;
      }
      tail.torn_bytes += static_cast<long long>(line.size());
    }
    return false;
  }

  fs::path path_;
  sys::FileDescriptor fd_;
  size_t size_ = 0;
};

// Hands on the whole lines of `buffer` and leaves the rest in it.
void take_lines(std::string& buffer, Place& place, const LineVisitor& visit) {
  size_t start = 0;
  for (size_t end = buffer.find('\n'); end != std::string::npos; end = buffer.find('\n', start)) {
    ++place.line;
    visit(place, std::string_view{buffer}.substr(start, end - start), true);
    start = end + 1;
  }
  buffer.erase(0, start);
}

}  // namespace

std::string segment_name(TimePoint time) { return to_rfc3339(time).substr(0, 7) + ".jsonl"; }

std::vector<std::string> list_segments(const fs::path& folder) {
  std::vector<std::string> names = sys::list_files(folder);
  std::erase_if(names, [](const std::string& name) { return !is_segment_name(name); });
  return names;
}

Tail read_tail(const fs::path& folder) {
  Tail tail;
  for (const std::string& name : list_segments(folder) | std::views::reverse) {
    const SegmentEnd end{folder / name};
    if (end.is_empty()) continue;
    const bool has_record = end.search(tail);
    if (tail.newest.empty()) tail.newest = name;
    if (has_record) break;
  }
  return tail;
}

void read_lines(const fs::path& folder, const std::string& segment, const LineVisitor& visit) {
  const fs::path path = folder / segment;
  const sys::FileDescriptor fd = open_to_read(path);
  Place place{segment, 0};
  std::string buffer;
  off_t offset = 0;
  while (true) {
    const std::string chunk = read_at(fd.get(), path, offset, chunk_bytes);
    if (chunk.empty()) break;
    offset += static_cast<off_t>(chunk.size());
    buffer += chunk;
    take_lines(buffer, place, visit);
    if (buffer.size() > tail_bytes_max) {
      throw Error{"ledger.broken",
                  fmt::format("{}:{} is longer than any record", path.string(), place.line + 1),
                  {{"path", path.string()}}};
    }
  }
  ++place.line;
  if (!buffer.empty()) visit(place, buffer, false);
}

void append_to_segment(const fs::path& folder, const std::string& segment, std::string_view bytes) {
  const fs::path path = folder / segment;
  const sys::FileDescriptor fd{
      open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR)};
  struct stat before {};
  if (!fd.is_open() || fstat(fd.get(), &before) != 0) fail_to_append(path, errno);

  ssize_t written = 0;
  do written = write(fd.get(), bytes.data(), bytes.size());
  while (written < 0 && errno == EINTR);
  int failure = written < 0 ? errno : 0;
  // Signals are held back (sys/signals.hpp), so a short write means that there is no more room.
  if (failure == 0 && static_cast<size_t>(written) != bytes.size()) failure = ENOSPC;
  if (failure == 0 && fdatasync(fd.get()) != 0) failure = errno;
  if (failure != 0) {
    // Nobody has built on these bytes: the caller holds the lock. If they stay, they are a torn
    // tail.
    [[maybe_unused]] const int ignored = ftruncate(fd.get(), before.st_size);
    fail_to_append(path, failure);
  }
  if (before.st_size == 0) sys::sync_folder(folder);
}

}  // namespace sparkrun::audit
