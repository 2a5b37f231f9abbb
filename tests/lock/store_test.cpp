// SPDX-License-Identifier: MIT
#include "lock/store.hpp"

#include "base/embedded.hpp"
#include "base/error.hpp"
#include "support/temp_dir.hpp"

#include <gtest/gtest.h>

#include <sys/stat.h>

namespace sparkrun::lock {
namespace {

using profile::Origin;
using test::TempDir;

profile::Profile profile_of(const std::string& name, Origin origin) {
  profile::Profile profile;
  profile.name = name;
  profile.origin = origin;
  return profile;
}

Lockfile some_lock() {
  return {.comment = default_comment(),
          .image = "docker.io/library/a:1",
          .index = Digest::sha256_of("index")};
}

TEST(FindLock, ReadsTheFile) {
  const TempDir folder;
  const fs::path path = folder.write("a.lock", some_lock().to_text());

  const auto found = find_lock(profile_of("a", Origin::project), path);

  ASSERT_TRUE(found);
  EXPECT_EQ(found->lock, some_lock());
  EXPECT_EQ(found->source, path.string());
  EXPECT_EQ(found->sha256, sha256_hex(some_lock().to_text()));
}

TEST(FindLock, FindsNothingWhereNothingIs) {
  const TempDir folder;

  EXPECT_FALSE(find_lock(profile_of("a", Origin::project), folder / "a.lock"));
}

TEST(FindLock, GivesTheEmbeddedLockOnlyToABuiltInProfile) {
  const TempDir folder;
  const auto embedded = embedded_file("lockfiles/pytorch.lock");
  ASSERT_TRUE(embedded) << "lockfiles/pytorch.lock is shipped";

  const auto found = find_lock(profile_of("pytorch", Origin::built_in), folder / "pytorch.lock");

  ASSERT_TRUE(found);
  EXPECT_EQ(found->source, "built in");
  EXPECT_EQ(found->sha256, sha256_hex(*embedded));
  for (const Origin origin : {Origin::project, Origin::user, Origin::system, Origin::image}) {
    EXPECT_FALSE(find_lock(profile_of("pytorch", origin), folder / "pytorch.lock"))
        << to_string(origin);
  }
}

TEST(FindLock, PrefersAFileToTheEmbeddedLock) {
  const TempDir folder;
  const fs::path path = folder.write("pytorch.lock", some_lock().to_text());

  EXPECT_EQ(find_lock(profile_of("pytorch", Origin::built_in), path)->source, path.string());
}

TEST(FindLock, NamesTheFileThatIsBroken) {
  const TempDir folder;
  const fs::path path = folder.write("a.lock", "version = 1\n");
  try {
    find_lock(profile_of("a", Origin::project), path);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.id(), "lock.invalid");
    EXPECT_STREQ(error.what(), (path.string() + " is not a valid lockfile").c_str());
  }
}

TEST(EmbeddedLocks, AreCanonical) {
  int locks = 0;
  for (const EmbeddedFile& file : embedded_files()) {
    if (!file.path.starts_with("lockfiles/")) continue;
    EXPECT_EQ(Lockfile::parse(file.content, std::string{file.path}).to_text(), file.content)
        << file.path;
    ++locks;
  }
  EXPECT_GE(locks, 1);
}

TEST(WriteLock, MakesTheFolderAndTheFile) {
  const TempDir folder;

  EXPECT_TRUE(write_lock(folder / "lockfiles/a.lock", some_lock()));
  EXPECT_EQ(folder.read("lockfiles/a.lock"), some_lock().to_text());
}

TEST(WriteLock, TouchesNothingWhenTheBytesAreThere) {
  const TempDir folder;
  const fs::path path = folder.write("a.lock", some_lock().to_text());
  struct stat before {
  }, after{};
  stat(path.c_str(), &before);

  EXPECT_FALSE(write_lock(path, some_lock()));

  stat(path.c_str(), &after);
  EXPECT_EQ(after.st_ino, before.st_ino);
  EXPECT_EQ(after.st_mtim.tv_sec, before.st_mtim.tv_sec);
  EXPECT_EQ(after.st_mtim.tv_nsec, before.st_mtim.tv_nsec);
}

TEST(WriteLock, ReplacesAnotherLock) {
  const TempDir folder;
  const fs::path path = folder.write("a.lock", "old");

  EXPECT_TRUE(write_lock(path, some_lock()));
  EXPECT_EQ(folder.read("a.lock"), some_lock().to_text());
}

TEST(RememberedPath, DiffersByRootAndKey) {
  const sys::Environment environment{.variables = {{"XDG_STATE_HOME", "/s"}}};
  const fs::path one = remembered_path(environment, "/a", "p");

  EXPECT_EQ(one.parent_path(), "/s/sparkrun/pins");
  EXPECT_EQ(one, remembered_path(environment, "/a", "p"));
  EXPECT_NE(one, remembered_path(environment, "/b", "p"));
  EXPECT_NE(one, remembered_path(environment, "/a", "q"));
  EXPECT_EQ(one.filename().string().size(), 32 + std::string{".lock"}.size());
}

}  // namespace
}  // namespace sparkrun::lock
