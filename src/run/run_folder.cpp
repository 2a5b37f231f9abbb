// SPDX-License-Identifier: MIT
#include "run/run_folder.hpp"

#include "base/error.hpp"
#include "base/json_value.hpp"
#include "base/text.hpp"
#include "base/ulid.hpp"

namespace sparkrun::run {
namespace {

constexpr mode_t private_folder = 0700;
constexpr mode_t private_file = 0600;

fs::path folder_of_runs(const sys::Environment& environment) {
  return environment.state_directory() / "runs";
}

Json to_json(const profile::Readiness& ready) {
  return {{"http", ready.http}, {"log", ready.log}, {"timeout_s", ready.timeout.count()}};
}

Json to_json(const RunNote& note) {
  return {{"run", note.run},
          {"profile", note.profile},
          {"container", note.container},
          {"engine", note.engine},
          {"engine_command", note.engine_command},
          {"boot", note.boot},
          {"engine_host", note.engine_host},
          {"detached", note.is_detached},
          {"exclusive", note.is_exclusive},
          {"removes", note.removes},
          {"limit_s", note.limit_s},
          {"launched", note.launched},
          {"ready", note.ready ? to_json(*note.ready) : Json()},
          {"status_file", note.status_file}};
}

RunNote to_note(const Json& json) {
  RunNote note{.run = string_or(json, "run"),
               .profile = string_or(json, "profile"),
               .container = string_or(json, "container"),
               .engine = string_or(json, "engine"),
               .engine_command = {},
               .engine_host = string_or(json, "engine_host"),
               .boot = string_or(json, "boot"),
               .is_detached = boolean_or(json, "detached", false),
               .is_exclusive = boolean_or(json, "exclusive", false),
               .removes = boolean_or(json, "removes", false),
               .limit_s = integer_or(json, "limit_s", 0),
               .launched = string_or(json, "launched"),
               .ready = {},
               .status_file = string_or(json, "status_file")};
  for (const Json& word : member(json, "engine_command")) {
    if (word.is_string()) note.engine_command.push_back(word.get<std::string>());
  }
  if (const Json& ready = member(json, "ready"); ready.is_object()) {
    note.ready = {.http = string_or(ready, "http"),
                  .log = string_or(ready, "log"),
                  .timeout = std::chrono::seconds{integer_or(ready, "timeout_s", 0)}};
  }
  return note;
}

}  // namespace

RunFolder RunFolder::make(const sys::Environment& environment, RunNote note) {
  RunFolder folder{folder_of_runs(environment) / note.run, std::move(note)};
  sys::make_directories(folder.path_, private_folder);
  folder.lock_ = sys::lock_folder(folder.path_);
  sys::write_file_atomically(folder.path_ / "run.json", to_json_line(to_json(folder.note_)) + "\n",
                             private_file);
  return folder;
}

std::optional<RunFolder> RunFolder::find(const sys::Environment& environment,
                                         const std::string& run) {
  if (!is_ulid(run)) return std::nullopt;
  const fs::path path = folder_of_runs(environment) / run;
  try {
    const auto json = parse_json(sys::read_file(path / "run.json").value_or(""));
    if (!json || !json->is_object() || string_or(*json, "run") != run) return std::nullopt;
    return RunFolder{path, to_note(*json)};
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::string RunFolder::container() const {
  const std::string id{trim(sys::read_file(cidfile()).value_or(""))};
  return id.empty() ? note_.container : id;
}

bool RunFolder::has_container() const { return note_.removes && sys::path_exists(cidfile()); }

bool RunFolder::has_ended() const { return note_.is_detached && sys::path_exists(description()); }

bool RunFolder::has_holder() const {
  return lock_.is_open() || !sys::try_lock_folder(path_).is_open();
}

bool RunFolder::try_hold() {
  if (!lock_.is_open()) lock_ = sys::try_lock_folder(path_);
  return lock_.is_open();
}

void RunFolder::take_over(int fd) {
  if (sys::is_open_at(fd, path_)) lock_ = sys::FileDescriptor{fd};
}

void RunFolder::hold() {
  if (!lock_.is_open()) lock_ = sys::wait_for_folder(path_);
}

void RunFolder::remove() {
  for (const fs::path& file : {cidfile(), log(), description(), waiter_log(), known_start(),
                               ready_mark(), path_ / "run.json"})
    sys::remove_file(file);
  sys::remove_file(path_);
  lock_.close();
}

std::vector<RunFolder> run_folders(const sys::Environment& environment) {
  std::vector<RunFolder> folders;
  for (const std::string& name : sys::list_folders(folder_of_runs(environment))) {
    if (auto folder = RunFolder::find(environment, name)) folders.push_back(std::move(*folder));
  }
  return folders;
}

void remove_old(std::vector<RunFolder>& folders, const sys::Clock& clock,
                std::chrono::seconds kept) {
  std::erase_if(folders, [&](RunFolder& folder) {
    const auto ended = sys::modified(folder.description());
    const bool is_old = folder.has_ended() && ended && clock.now() - *ended > kept &&
                        !folder.has_container() && !folder.has_holder();
    if (is_old) folder.remove();
    return is_old;
  });
}

}  // namespace sparkrun::run
