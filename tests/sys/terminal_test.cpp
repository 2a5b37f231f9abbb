// SPDX-License-Identifier: MIT
#include "sys/terminal.hpp"

#include "base/error.hpp"
#include "support/temp_dir.hpp"
#include "sys/files.hpp"

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

TEST(StandardTerminal, KnowsThatAFileIsNoTerminal) {
  const TempDir folder;
  const Redirect in{STDIN_FILENO, folder.write("in", ""), O_RDONLY};

  const StandardTerminal terminal;

  EXPECT_FALSE(terminal.in_is_terminal);
  EXPECT_TRUE(terminal.in_is_usable);
}

TEST(StandardTerminal, KnowsThatTheNullDeviceGivesNoInput) {
  const Redirect in{STDIN_FILENO, "/dev/null", O_RDONLY};

  EXPECT_FALSE(StandardTerminal{}.in_is_usable);
}

TEST(StandardTerminal, ReadsNoMoreThanItMay) {
  const TempDir folder;
  const std::string text(100'000, 'x');
  const fs::path file = folder.write("in", text);
  {
    const Redirect in{STDIN_FILENO, file, O_RDONLY};
    EXPECT_EQ(StandardTerminal{}.read_in(70'000), text.substr(0, 70'000));
  }
  const Redirect in{STDIN_FILENO, file, O_RDONLY};
  EXPECT_EQ(StandardTerminal{}.read_in(1'000'000), text);
}

TEST(StandardTerminal, WritesToItsStreams) {
  const TempDir folder;
  const fs::path file = folder.write("out", "");
  {
    const Redirect out{STDOUT_FILENO, file, O_WRONLY | O_APPEND};
    const Redirect err{STDERR_FILENO, file, O_WRONLY | O_APPEND};
    StandardTerminal terminal;
    terminal.write_out("result\n");
    terminal.write_err("talk\n");
  }
  EXPECT_EQ(folder.read("out"), "result\ntalk\n");
}

TEST(StandardTerminal, SaysThatAResultCouldNotBeWritten) {
  std::string id;
  {
    const Redirect out{STDOUT_FILENO, "/dev/full", O_WRONLY};
    try {
      StandardTerminal{}.write_out("result\n");
    } catch (const Error& error) {
      id = error.id();
    }
  }
  EXPECT_EQ(id, "file.unwritable");
}

TEST(StandardTerminal, IsQuietAboutAClosedPipe) {
  std::signal(SIGPIPE, SIG_IGN);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  close(ends[0]);
  const int before = dup(STDOUT_FILENO);
  dup2(ends[1], STDOUT_FILENO);

  EXPECT_NO_THROW(StandardTerminal{}.write_out("result\n"));

  dup2(before, STDOUT_FILENO);
  close(before);
  close(ends[1]);
}

}  // namespace
}  // namespace sparkrun::sys
