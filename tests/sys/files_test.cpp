// SPDX-License-Identifier: MIT
#include "sys/files.hpp"

#include "base/error.hpp"
#include "support/temp_dir.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sparkrun::sys {
namespace {

using test::TempDir;

// The id of the error that `action` throws; `nothing` when it throws none.
template <typename Action>
std::string error_of(Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    return std::string{error.id()};
  }
  return "nothing";
}

mode_t mode_of(const fs::path& path) {
  struct stat status {};
  EXPECT_EQ(stat(path.c_str(), &status), 0);
  return status.st_mode & 07777;
}

size_t count_entries(const fs::path& folder) {
  return static_cast<size_t>(std::distance(fs::directory_iterator{folder}, {}));
}

TEST(ReadFile, GivesAllBytes) {
  const TempDir folder;
  const std::string bytes = std::string(100'000, 'x') + std::string{"\0\xff", 2};

  EXPECT_EQ(read_file(folder.write("a", bytes)), std::optional{bytes});
  EXPECT_EQ(read_file(folder.write("empty", "")), std::optional<std::string>{""});
}

TEST(ReadFile, GivesNothingForWhatIsNotThere) {
  const TempDir folder;
  folder.write("file", "x");

  EXPECT_EQ(read_file(folder / "absent"), std::nullopt);
  EXPECT_EQ(read_file(folder / "absent/deeper"), std::nullopt);
  EXPECT_EQ(read_file(folder / "file/deeper"), std::nullopt);
}

TEST(ReadFile, RefusesAFolder) {
  const TempDir folder;

  EXPECT_EQ(error_of([&] { read_file(folder.path()); }), "file.unreadable");
}

TEST(ReadFile, RefusesAPipeAtOnce) {
  const TempDir folder;
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);

  try {
    read_file(folder / "pipe");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.id(), "file.unreadable");
    EXPECT_TRUE(std::string{error.what()}.ends_with("not a regular file")) << error.what();
  }
}

TEST(ReadFile, RefusesMoreThanItsLimit) {
  const TempDir folder;
  const fs::path file = folder.write("a", "12345");

  EXPECT_EQ(read_file(file, 5), std::optional<std::string>{"12345"});
  EXPECT_EQ(error_of([&] { read_file(file, 4); }), "file.unreadable");
}

TEST(WriteFileAtomically, ReplacesTheContent) {
  const TempDir folder;
  const fs::path file = folder.write("a", "old");

  write_file_atomically(file, "new");

  EXPECT_EQ(folder.read("a"), "new");
  EXPECT_EQ(count_entries(folder.path()), 1U);
}

TEST(WriteFileAtomically, GivesTheModeThatWasAskedFor) {
  const TempDir folder;
  const mode_t before = umask(0022);

  write_file_atomically(folder / "private", "x", 0600);
  write_file_atomically(folder / "public", "x", 0666);
  umask(before);

  EXPECT_EQ(mode_of(folder / "private"), 0600U);
  EXPECT_EQ(mode_of(folder / "public"), 0644U);
}

TEST(WriteFileAtomically, KeepsTheModeOfTheFileThatItReplaces) {
  const TempDir folder;
  write_file_atomically(folder / "file", "old", 0600);
  fs::permissions(folder / "file", fs::perms{0664});

  write_file_atomically(folder / "file", "new", 0600);

  EXPECT_EQ(mode_of(folder / "file"), 0664U);
}

TEST(WriteFileAtomically, WritesToWhatIsNotARegularFileWithoutReplacingIt) {
  const TempDir folder;
  fs::create_symlink("/dev/null", folder / "sink");

  write_file_atomically(folder / "sink", "gone");

  EXPECT_TRUE(fs::is_character_file(folder / "sink"));
  EXPECT_TRUE(fs::is_symlink(folder / "sink"));
}

TEST(WriteFileAtomically, WritesThroughASymbolicLink) {
  const TempDir folder;
  folder.write("real/file", "old");
  fs::create_symlink("real/file", folder / "link");

  write_file_atomically(folder / "link", "new");

  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_EQ(folder.read("real/file"), "new");
  EXPECT_EQ(count_entries(folder / "real"), 1U);
}

TEST(WriteFileAtomically, LeavesOldContentAndNoTemporaryFileWhenItCannotRename) {
  const TempDir folder;
  folder.write("target/inside", "old");

  EXPECT_EQ(error_of([&] { write_file_atomically(folder / "target", "new"); }), "file.unwritable");

  EXPECT_EQ(folder.read("target/inside"), "old");
  EXPECT_EQ(count_entries(folder.path()), 1U);
}

TEST(WriteFileAtomically, NamesThePathThatItCannotWrite) {
  const TempDir folder;
  const fs::path file = folder / "absent/file";
  try {
    write_file_atomically(file, "x");
    FAIL() << "written";
  } catch (const Error& error) {
    EXPECT_EQ(error.id(), "file.unwritable");
    EXPECT_EQ(error.details().at("path"), file.string());
  }
}

TEST(WriteAll, SaysWhenTheDeviceIsFull) {
  const FileDescriptor full{open("/dev/full", O_WRONLY | O_CLOEXEC)};
  ASSERT_TRUE(full.is_open());

  EXPECT_EQ(error_of([&] { write_all(full.get(), "x", "/dev/full"); }), "file.unwritable");
}

TEST(MakeDirectories, MakesWhatIsMissingWithTheMode) {
  const TempDir folder;
  const mode_t before = umask(0022);

  make_directories(folder / "a/b", 0700);
  make_directories(folder / "a/b/c", 0755);
  make_directories(folder / "a/b/c", 0700);
  umask(before);

  EXPECT_EQ(mode_of(folder / "a"), 0700U);
  EXPECT_EQ(mode_of(folder / "a/b"), 0700U);
  EXPECT_EQ(mode_of(folder / "a/b/c"), 0755U);
}

TEST(MakeDirectories, RefusesAFileInTheWay) {
  const TempDir folder;
  folder.write("a", "x");

  EXPECT_EQ(error_of([&] { make_directories(folder / "a", 0700); }), "file.unwritable");
  EXPECT_EQ(error_of([&] { make_directories(folder / "a/b", 0700); }), "file.unwritable");
}

TEST(ListFiles, NamesRegularFilesInOrder) {
  const TempDir folder;
  folder.write("b", "");
  folder.write("a", "");
  folder.write("sub/c", "");
  fs::create_symlink("a", folder / "link");
  fs::create_symlink("nowhere", folder / "dangling");

  EXPECT_EQ(list_files(folder.path()), (std::vector<std::string>{"a", "b", "link"}));
  EXPECT_TRUE(list_files(folder / "absent").empty());
}

TEST(ListFiles, DoesNotTakeWhatItCannotReadForEmpty) {
  const TempDir folder;
  const fs::path unreadable = folder / std::string(300, 'x');  // ENAMETOOLONG, also for root

  EXPECT_THROW(list_files(unreadable), Error);
  EXPECT_THROW(list_folders(unreadable), Error);
}

TEST(RemoveFile, IsFineWithoutOne) {
  const TempDir folder;
  const fs::path file = folder.write("a", "");

  remove_file(file);
  remove_file(file);

  EXPECT_FALSE(path_exists(file));
}

TEST(PathQuestions, TellFilesFromFolders) {
  const TempDir folder;
  const fs::path file = folder.write("a", "");

  EXPECT_TRUE(path_exists(file));
  EXPECT_FALSE(is_folder(file));
  EXPECT_TRUE(is_folder(folder.path()));
  EXPECT_FALSE(path_exists(file / "below"));
  EXPECT_FALSE(is_folder(folder / "absent"));
}

TEST(AccessTo, TellsAbsentFromDenied) {
  const TempDir folder;
  const fs::path file = folder.write("a", "");

  EXPECT_EQ(access_to(file), Access::granted);
  EXPECT_EQ(access_to(folder / "absent"), Access::absent);
}

// Root may open everything, so a child without privileges asks. 42: denied.
TEST(AccessToDeathTest, IsDeniedWithoutPermission) {
  const TempDir folder;
  const fs::path file = folder.write("a", "");
  chmod(file.c_str(), 0);

  EXPECT_EXIT(
      {
        const bool is_other = setgid(65534) == 0 && setuid(65534) == 0;
        _exit((is_other || getuid() != 0) && access_to(file) == Access::denied ? 42 : 1);
      },
      testing::ExitedWithCode(42), "");
}

TEST(FileDescriptor, ClosesWhatItOwnsOnce) {
  FileDescriptor first{open("/dev/null", O_RDONLY | O_CLOEXEC)};
  const int number = first.get();
  FileDescriptor second{std::move(first)};
  EXPECT_EQ(second.get(), number);

  second = FileDescriptor{open("/dev/null", O_RDONLY | O_CLOEXEC)};
  EXPECT_EQ(fcntl(number, F_GETFD), -1);
  second.close();

  EXPECT_FALSE(second.is_open());
}

}  // namespace
}  // namespace sparkrun::sys
