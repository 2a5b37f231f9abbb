// SPDX-License-Identifier: MIT
#include "sys/terminal.hpp"

#include "base/error.hpp"
#include "support/temp_dir.hpp"
#include "sys/files.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <csignal>
#include <fcntl.h>
#include <unistd.h>

namespace sparkrun::sys {
namespace {

using test::TempDir;

// Puts a file in the place of a standard stream until the end of the scope.
class Redirect {
 public:
  Redirect(int stream, const fs::path& path, int flags) : stream_(stream), before_(dup(stream)) {
    const FileDescriptor file{open(path.c_str(), flags | O_CLOEXEC)};
    dup2(file.get(), stream_);
  }
  Redirect(const Redirect&) = delete;
  Redirect& operator=(const Redirect&) = delete;
  ~Redirect() { dup2(before_.get(), stream_); }

 private:
  int stream_;
  FileDescriptor before_;
};

class StandardTerminalTest : public testing::Test {
 protected:
  Signals signals_;
};

TEST_F(StandardTerminalTest, KnowsThatAFileIsNoTerminal) {
  const TempDir folder;
  const Redirect in{STDIN_FILENO, folder.write("in", ""), O_RDONLY};

  const StandardTerminal terminal{signals_};

  EXPECT_FALSE(terminal.in_is_terminal);
  EXPECT_TRUE(terminal.in_is_usable);
}

TEST_F(StandardTerminalTest, KnowsThatTheNullDeviceGivesNoInput) {
  const Redirect in{STDIN_FILENO, "/dev/null", O_RDONLY};

  EXPECT_FALSE(StandardTerminal{signals_}.in_is_usable);
}

std::string id_of_reading(StandardTerminal&& terminal, size_t bytes_max) {
  try {
    terminal.read_in(bytes_max);
  } catch (const Error& error) {
    return std::string{error.id()};
  }
  return {};
}

TEST_F(StandardTerminalTest, ReadsAllOfItsInput) {
  const TempDir folder;
  const std::string text(100'000, 'x');
  const Redirect in{STDIN_FILENO, folder.write("in", text), O_RDONLY};

  EXPECT_EQ(StandardTerminal{signals_}.read_in(text.size()), text);
}

TEST_F(StandardTerminalTest, RefusesMoreInputThanItMayTakeRatherThanCutIt) {
  const TempDir folder;
  const Redirect in{STDIN_FILENO, folder.write("in", std::string(100'000, 'x')), O_RDONLY};

  EXPECT_EQ(id_of_reading(StandardTerminal{signals_}, 99'999), "file.unreadable");
}

TEST_F(StandardTerminalTest, SaysThatItsInputCannotBeRead) {
  const TempDir folder;
  const Redirect in{STDIN_FILENO, folder.path(), O_RDONLY};

  EXPECT_EQ(id_of_reading(StandardTerminal{signals_}, 100), "file.unreadable");
}

TEST_F(StandardTerminalTest, LeavesASilentInputOnASignal) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const FileDescriptor ours{ends[1]}, theirs{ends[0]};
  const Redirect in{STDIN_FILENO, fmt::format("/proc/self/fd/{}", ends[0]), O_RDONLY};
  kill(getpid(), SIGTERM);

  EXPECT_EQ(id_of_reading(StandardTerminal{signals_}, 100), "interrupted");
}

TEST_F(StandardTerminalTest, WritesToItsStreams) {
  const TempDir folder;
  const fs::path file = folder.write("out", "");
  {
    const Redirect out{STDOUT_FILENO, file, O_WRONLY | O_APPEND};
    const Redirect err{STDERR_FILENO, file, O_WRONLY | O_APPEND};
    StandardTerminal terminal{signals_};
    terminal.write_out("result\n");
    terminal.write_err("talk\n");
  }
  EXPECT_EQ(folder.read("out"), "result\ntalk\n");
}

TEST_F(StandardTerminalTest, SaysThatAResultCouldNotBeWritten) {
  std::string id;
  {
    const Redirect out{STDOUT_FILENO, "/dev/full", O_WRONLY};
    try {
      StandardTerminal{signals_}.write_out("result\n");
    } catch (const Error& error) {
      id = error.id();
    }
  }
  EXPECT_EQ(id, "file.unwritable");
}

TEST_F(StandardTerminalTest, IsQuietAboutAClosedPipe) {
  std::signal(SIGPIPE, SIG_IGN);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  close(ends[0]);
  const int before = dup(STDOUT_FILENO);
  dup2(ends[1], STDOUT_FILENO);

  EXPECT_NO_THROW(StandardTerminal{signals_}.write_out("result\n"));

  dup2(before, STDOUT_FILENO);
  close(before);
  close(ends[1]);
}

}  // namespace
}  // namespace sparkrun::sys
