// SPDX-License-Identifier: MIT
#include "archive/tar.hpp"

#include "base/error.hpp"
#include "support/error_of.hpp"
#include "support/fake_processes.hpp"
#include "support/temp_dir.hpp"
#include "sys/files.hpp"

#include <gtest/gtest.h>

#include <csignal>

namespace sparkrun::archive {
namespace {

using test::error_of;

TEST(Tar, SaysThatItIsMissing) {
  test::FakeProcesses processes;

  EXPECT_EQ(error_of([&] { pack_to_stdout("/x", processes); }).id(), "archive.tar_failed");
  EXPECT_EQ(error_of([&] { unpack_stdin("/x", processes); }).id(), "archive.tar_failed");
}

TEST(Tar, SaysWhatWentWrong) {
  test::FakeProcesses processes;
  processes.on({"tar"}, {.err = "tar: No space left on device\n", .exit = 2});

  EXPECT_NE(std::string{error_of([&] { pack_to_stdout("/x", processes); }).what()}.find("No space"),
            std::string::npos);
  EXPECT_EQ(error_of([&] { unpack_stdin("/x", processes); }).id(), "archive.invalid");

  processes.on({"tar"}, {.exit = 141, .signal = SIGPIPE});
  EXPECT_STREQ(error_of([&] { pack_to_stdout("/x", processes); }).what(),
               "whoever read the archive has gone before its end");
}

TEST(Tar, PacksTheSameContentsAsTheSameBytesAndFollowsLinks) {
  const test::TempDir folder;
  sys::Signals signals;
  sys::PosixProcesses processes{signals};
  std::vector<std::string> streams;
  folder.write("elsewhere", "content");
  for (const std::string name : {"one", "two"}) {
    folder.write(name + "/a", "content");
    folder.make(name + "/blobs");
    sys::make_link(folder / "elsewhere", folder / (name + "/blobs/b"));
    streams.push_back(
        processes.run_pipeline({.commands = {pack_command(folder / name)}}).front().out);
  }

  EXPECT_TRUE(streams[0] == streams[1]);
  EXPECT_NE(streams[0].find("content", streams[0].find("content") + 1), std::string::npos);
}

}  // namespace
}  // namespace sparkrun::archive
