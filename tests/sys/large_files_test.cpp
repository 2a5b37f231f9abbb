// SPDX-License-Identifier: MIT
#include "base/error.hpp"
#include "support/temp_dir.hpp"
#include "sys/files.hpp"

#include <gtest/gtest.h>

#include <sys/stat.h>

namespace sparkrun::sys {
namespace {

using Names = std::vector<std::string>;

TEST(PendingFile, AppearsWholeOrNotAtAll) {
  const test::TempDir folder;
  {
    PendingFile file{folder / "f"};
    file.write("half");
    EXPECT_FALSE(path_exists(folder / "f"));
  }
  EXPECT_EQ(list_files(folder.path()), Names{});
  {
    PendingFile file{folder / "f"};
    file.write("one ");
    file.write("two");
    file.commit(0640);
  }
  EXPECT_EQ(folder.read("f"), "one two");
  EXPECT_EQ(list_files(folder.path()), Names{"f"});
  struct stat status {};
  stat((folder / "f").c_str(), &status);
  EXPECT_EQ(status.st_mode & 07777, 0640U);
}

TEST(PendingFile, BeginsAgain) {
  const test::TempDir folder;
  PendingFile file{folder / "f"};
  file.write("wrong and long");
  file.restart();
  file.write("right");
  file.commit(0644);

  EXPECT_EQ(folder.read("f"), "right");
}

TEST(PendingFile, NeedsItsFolder) {
  const test::TempDir folder;

  EXPECT_THROW(PendingFile{folder / "missing/f"}, Error);
}

TEST(ReadInPieces, GivesAllBytesInOrder) {
  const test::TempDir folder;
  std::string content;
  for (int i = 0; i < 300'000; ++i) content += std::to_string(i);
  folder.write("f", content);
  std::string read;
  int pieces = 0;

  read_in_pieces(folder / "f", [&](std::string_view piece) {
    read += piece;
    ++pieces;
  });

  EXPECT_TRUE(read == content);
  EXPECT_GT(pieces, 1);
}

TEST(ReadInPieces, ReadsRegularFilesOnly) {
  const test::TempDir folder;
  mkfifo((folder / "fifo").c_str(), 0600);
  for (const fs::path& path :
       {folder.path(), folder / "fifo", folder / "none", fs::path{"/dev/zero"}}) {
    EXPECT_THROW(read_in_pieces(path, [](std::string_view) {}), Error) << path;
    EXPECT_FALSE(regular_file_size(path)) << path;
  }
}

TEST(TemporaryFolder, IsGoneWithAllThatIsInIt) {
  const test::TempDir parent;
  fs::path path;
  {
    const TemporaryFolder folder{parent.path()};
    path = folder.path();
    make_directories(path / "a/b", 0755);
    write_file_atomically(path / "a/b/c", "x");
    make_link("/etc/passwd", path / "a/link");
  }
  EXPECT_FALSE(path_exists(path));
  EXPECT_THROW(TemporaryFolder{parent / "none"}, Error);
}

TEST(LockFolder, BelongsToOneAtATime) {
  const test::TempDir folder;
  {
    const FileDescriptor first = lock_folder(folder.path());
    EXPECT_THROW(static_cast<void>(lock_folder(folder.path())), Error);
  }
  EXPECT_NO_THROW(static_cast<void>(lock_folder(folder.path())));
}

}  // namespace
}  // namespace sparkrun::sys
