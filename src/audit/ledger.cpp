// SPDX-License-Identifier: MIT
#include "audit/ledger.hpp"

#include "audit/segment.hpp"
#include "base/digest.hpp"
#include "base/error.hpp"
#include "base/json_value.hpp"
#include "sys/files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <future>
#include <sys/file.h>
#include <thread>

namespace sparkrun::audit {
namespace {

using std::chrono::milliseconds;

[[noreturn]] void fail_to_lock(const fs::path& path, std::string_view cause) {
  throw Error{"ledger.unwritable",
              fmt::format("cannot lock the ledger {}: {}", path.string(), cause),
              {{"path", path.string()}}};
}

// Waits in the kernel's queue, which has no time limit, so a thread waits there. When the time is
// up it is left behind: the lock that it may still get is given back at once, with the future's
// state.
sys::FileDescriptor wait_for_lock(sys::FileDescriptor fd, const fs::path& path,
                                  milliseconds timeout) {
  std::promise<sys::FileDescriptor> promise;
  std::future<sys::FileDescriptor> locked = promise.get_future();
  std::thread{[fd = std::move(fd), promise = std::move(promise)]() mutable {
    while (flock(fd.get(), LOCK_EX) != 0 && errno == EINTR) continue;
    promise.set_value(std::move(fd));
  }}.detach();
  if (locked.wait_for(timeout) != std::future_status::ready) {
    fail_to_lock(path, fmt::format("others have held it for {} ms", timeout.count()));
  }
  return locked.get();
}

sys::FileDescriptor take_lock(const fs::path& path, milliseconds timeout) {
  sys::FileDescriptor fd{open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR)};
  if (!fd.is_open()) fail_to_lock(path, std::strerror(errno));
  if (flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return fd;
  if (errno != EWOULDBLOCK) fail_to_lock(path, std::strerror(errno));
  return wait_for_lock(std::move(fd), path, timeout);
}

// The lock of a ledger. It is closed on exec: a descriptor that a container's client inherited
// would keep the ledger locked for as long as the job runs. `lock.next` is a turnstile: only who
// holds it may ask for `lock`, so a process that appends without a pause cannot take the lock again
// and again while others wait.
sys::FileDescriptor lock_ledger(const fs::path& folder, milliseconds timeout) {
  const sys::FileDescriptor turn = take_lock(folder / "lock.next", timeout);
  return take_lock(folder / "lock", timeout);
}

// The line that continues `tail`, in the order of keys that every record has.
std::string make_line(const Json& record, const Tail& tail, TimePoint time) {
  Json line = {{"v", 1}, {"seq", tail.record.seq + 1}};
  for (const char* const key : {"event", "run"}) {
    if (record.contains(key)) line[key] = record[key];
  }
  line["time"] = to_rfc3339(time);
  line["prev"] = tail.line_hash;
  for (const auto& [key, value] : record.items()) {
    if (!line.contains(key)) line[key] = value;
  }
  std::string text = to_json_line(line);
  if (text.size() > record_bytes_max) {
    throw Error{"ledger.unwritable", fmt::format("the record has {} bytes, {} are allowed",
                                                 text.size(), record_bytes_max)};
  }
  return text;
}

// Ends the torn line and says in the ledger what it is, in the segment where it stands. `after`
// covers the last whole record, since `prev` covers the torn line.
void mend_tail(const fs::path& folder, Tail& tail, TimePoint time) {
  const Json torn = {
      {"event", "tail.torn"}, {"after", tail.record.hash}, {"torn_bytes", tail.torn_bytes}};
  const std::string line = make_line(torn, tail, time);
  append_to_segment(folder, tail.newest, "\n" + line + "\n");
  tail = {.record = {tail.record.seq + 1, sha256_hex(line)},
          .line_hash = sha256_hex(line),
          .newest = tail.newest};
}

Head append_locked(const fs::path& folder, const Json& record, TimePoint time) {
  Tail tail = read_tail(folder);
  if (!tail.has_newline) mend_tail(folder, tail, time);
  const std::string line = make_line(record, tail, time);
  // A clock that was set back must not put a record into a month before the last one.
  append_to_segment(folder, std::max(tail.newest, segment_name(time)), line + "\n");
  return {tail.record.seq + 1, sha256_hex(line)};
}

}  // namespace

Head Ledger::append(const Json& record) const {
  try {
    sys::make_directories(folder_, S_IRWXU);
    const sys::FileDescriptor lock = lock_ledger(folder_, lock_timeout_);
    return append_locked(folder_, record, clock_->now());
  } catch (const Error& error) {
    if (error.id() == "ledger.unwritable") throw;
    throw Error{"ledger.unwritable", error.what(), error.details()};
  }
}

void Ledger::read_all(const std::function<void(const Json& record)>& visit) const {
  for (const std::string& segment : list_segments(folder_)) {
    read_lines(folder_, segment, [&](const Place&, std::string_view line, bool) {
      const auto record = parse_json(line);
      if (record && record->is_object()) visit(*record);
    });
  }
}

Verification Ledger::verify(const std::optional<Head>& anchor) const {
  ChainChecker checker{anchor};
  const std::vector<std::string> segments = list_segments(folder_);
  for (const std::string& segment : segments) {
    read_lines(folder_, segment, [&](const Place& place, std::string_view line, bool is_complete) {
      checker.see(place, line, is_complete);
    });
  }
  Verification result = checker.finish();
  result.segments = segments.size();
  return result;
}

std::optional<Head> Ledger::head() const {
  const Tail tail = read_tail(folder_);
  if (tail.record.seq == 0) return std::nullopt;
  return tail.record;
}

fs::path ledger_folder(const fs::path& audit_root, const std::string& host_id, uid_t uid) {
  return audit_root / host_id / std::to_string(uid);
}

std::vector<Ledger> find_ledgers(const fs::path& audit_root, const sys::Clock& clock) {
  std::vector<Ledger> ledgers;
  for (const std::string& host : sys::list_folders(audit_root)) {
    for (const std::string& user : sys::list_folders(audit_root / host)) {
      ledgers.emplace_back(audit_root / host / user, clock);
    }
  }
  return ledgers;
}

}  // namespace sparkrun::audit
