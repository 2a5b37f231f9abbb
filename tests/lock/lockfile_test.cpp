// SPDX-License-Identifier: MIT
#include "lock/lockfile.hpp"

#include "base/error.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

namespace sparkrun::lock {
namespace {

std::string digest_text(char digit) { return "sha256:" + std::string(64, digit); }
Digest digest(char digit) { return Digest::parse(digest_text(digit)); }

// A complete lockfile, as `sparkrun lock` writes it.
std::string canonical() {
  return fmt::format(
      "# Written by `sparkrun lock`. Commit this file.\n"
      "image = \"docker.io/unsloth/unsloth:dgxspark-latest\"\n"
      "index = \"{0}\"\n"
      "version = 1\n"
      "\n"
      "[platform.\"linux/arm64\"]\n"
      "chain = \"{1}\"\n"
      "config = \"{2}\"\n"
      "created = \"2026-07-02T11:04:19Z\"\n"
      "download_bytes = 11482379012\n"
      "index = \"{0}\"\n"
      "manifest = \"{3}\"\n"
      "\n"
      "[platform.\"linux/arm64\".image_env]\n"
      "CUDA_VERSION = \"13.0.1.012\"\n",
      digest_text('0'), digest_text('1'), digest_text('2'), digest_text('3'));
}

Error parse_error(const std::string& text) {
  try {
    Lockfile::parse(text, "p.lock");
  } catch (const Error& error) {
    return error;
  }
  return Error{"bug", "accepted: " + text};
}

TEST(Lockfile, ReadsWhatLockWrites) {
  const Lockfile lock = Lockfile::parse(canonical(), "p.lock");

  EXPECT_EQ(lock.comment, "# Written by `sparkrun lock`. Commit this file.\n");
  EXPECT_EQ(lock.image, "docker.io/unsloth/unsloth:dgxspark-latest");
  EXPECT_EQ(lock.index, digest('0'));
  const PlatformPin& pin = lock.platforms.at("linux/arm64");
  EXPECT_EQ(pin.chain, digest('1'));
  EXPECT_EQ(pin.config, digest('2'));
  EXPECT_EQ(pin.manifest, digest('3'));
  EXPECT_EQ(pin.created, "2026-07-02T11:04:19Z");
  EXPECT_EQ(pin.download_bytes, 11482379012);
  EXPECT_EQ(pin.image_env.at("CUDA_VERSION"), "13.0.1.012");
  EXPECT_TRUE(lock.is_complete());
}

TEST(Lockfile, WritesTheCanonicalText) {
  EXPECT_EQ(Lockfile::parse(canonical(), "p.lock").to_text(), canonical());
}

TEST(Lockfile, BringsAnyOrderIntoTheCanonicalOne) {
  const std::string shuffled = fmt::format(
      "version = 1\nindex = \"{0}\"\nimage = 'docker.io/unsloth/unsloth:dgxspark-latest'\n# "
      "inner\n[platform.'linux/arm64'.image_env]\n"
      "CUDA_VERSION = \"13.0.1.012\"\n[platform.'linux/arm64']\nmanifest = \"{3}\"\nindex = "
      "\"{0}\"\ndownload_bytes "
      "= 11_482_379_012\n"
      "created = \"2026-07-02T11:04:19Z\"\nconfig = \"{2}\"\nchain = \"{1}\"\n",
      digest_text('0'), digest_text('1'), digest_text('2'), digest_text('3'));

  EXPECT_EQ(default_comment() + Lockfile::parse(shuffled, "p.lock").to_text(), canonical());
}

TEST(Lockfile, KeepsALeadingCommentAsItIs) {
  const std::string comment = "# one\n#two\n#\n# \xc3\xa4 <<<<<<< HEAD\n";
  const std::string text =
      comment + "image = \"a\"\nindex = \"" + digest_text('0') + "\"\nversion = 1\n";

  EXPECT_EQ(Lockfile::parse(text, "p.lock").comment, comment);
  EXPECT_EQ(Lockfile::parse(text, "p.lock").to_text(), text);
}

std::string random_text(std::mt19937& random) {
  constexpr std::string_view pieces[] = {"a",
                                         "Z",
                                         "0",
                                         ".",
                                         "_",
                                         "-",
                                         "/",
                                         "\"",
                                         "\\",
                                         "\n",
                                         "\t",
                                         "#",
                                         "=",
                                         "[",
                                         "]",
                                         " ",
                                         "\x1b",
                                         "\xc3\xbc",
                                         "\xf0\x9f\x9a\x80"};
  std::string text;
  for (auto left = 1 + random() % 10; left > 0; --left)
    text += pieces[random() % std::size(pieces)];
  return text;
}

Digest random_digest(std::mt19937& random) {
  return random() % 4 == 0
             ? Digest::parse("sha512:" + std::string(128, "0123456789abcdef"[random() % 16]))
             : Digest::sha256_of(std::to_string(random()));
}

PlatformPin random_pin(std::mt19937& random) {
  PlatformPin pin{.manifest = random_digest(random)};
  if (random() % 2 == 0) pin.config = random_digest(random);
  if (random() % 2 == 0) pin.chain = random_digest(random);
  if (random() % 2 == 0) pin.created = random_text(random);
  if (random() % 2 == 0) pin.download_bytes = static_cast<long long>(random()) << (random() % 30);
  for (auto left = random() % 3; left > 0; --left)
    pin.image_env[random_text(random)] = random_text(random);
  return pin;
}

Lockfile random_lock(std::mt19937& random) {
  const auto name = [&] { return fmt::format("reg.test:5000/a/b:{}", random()); };
  const auto platform = [&] { return fmt::format("linux/cpu{}", random()); };
  Lockfile lock{.image = name()};
  if (random() % 4 == 0) {
    lock.taken = name();
    lock.taken_because = random_text(random);
  }
  for (auto left = random() % 3; left > 0; --left) lock.comment += fmt::format("# {}\n", random());
  lock.platforms.emplace(platform(), random_pin(random));
  if (random() % 4 != 0) {
    lock.index = random_digest(random);
    for (auto left = random() % 3; left > 0; --left)
      lock.platforms.emplace(platform(), random_pin(random));
    if (random() % 5 == 0) lock.platforms.clear();
  }
  return lock;
}

TEST(Lockfile, KeepsACommentWithBlankLinesWhateverTheLineEnds) {
  const std::string text =
      "\xef\xbb\xbf# a\r\n\r\n# b\r\n" + canonical().substr(canonical().find("image"));

  const Lockfile lock = Lockfile::parse(text, "p.lock");

  EXPECT_EQ(lock.comment, "# a\n\n# b\n");
  EXPECT_EQ(Lockfile::parse(lock.to_text(), "p.lock"), lock);
}

TEST(Lockfile, KeepsWhatWasTakenInstead) {
  Lockfile lock = Lockfile::parse(canonical(), "p.lock");
  lock.taken = "docker.io/unsloth/unsloth:2026.7";
  lock.taken_because = "the registry does not have the wanted tag";

  EXPECT_EQ(Lockfile::parse(lock.to_text(), "p.lock"), lock);
}

TEST(Lockfile, IsTheSameAfterWritingAndReading) {
  std::mt19937 random{20260714};
  for (int i = 0; i < 1000; ++i) {
    const Lockfile lock = random_lock(random);
    const std::string text = lock.to_text();

    const Lockfile read = Lockfile::parse(text, "p.lock");

    ASSERT_EQ(read, lock) << text;
    ASSERT_EQ(read.to_text(), text);
  }
}

TEST(Lockfile, NeedsOnlyVersionImageAndOneDigest) {
  const Lockfile by_index = Lockfile::parse(
      "image = \"a\"\nversion = 1\nindex = \"" + digest_text('0') + "\"\n", "p.lock");
  const Lockfile by_manifest =
      Lockfile::parse("image = \"a\"\nversion = 1\n[platform.\"linux/arm64\"]\nmanifest = \"" +
                          digest_text('0') + "\"\n",
                      "p.lock");

  EXPECT_FALSE(by_index.is_complete());
  EXPECT_FALSE(by_manifest.is_complete());
}

TEST(Lockfile, SaysWhereConflictMarkersStand) {
  const Error error = parse_error(
      "version = 1\n<<<<<<< HEAD\nimage = \"a\"\n=======\nimage = \"b\"\n>>>>>>> other\n");

  EXPECT_EQ(error.id(), "lock.conflict");
  EXPECT_STREQ(error.what(), "p.lock:2: the lockfile has git conflict markers");
}

TEST(Lockfile, RefusesANewerFormat) {
  const Error error = parse_error("version = 2\nsomething = \"new\"\n");

  EXPECT_EQ(error.id(), "lock.newer");
  EXPECT_STREQ(error.what(), "p.lock has format version 2, and this sparkrun knows 1");
}

TEST(Lockfile, RefusesOtherVersions) {
  for (const std::string text : {"", "image = \"a\"\n", "version = \"1\"\n", "version = 0\n",
                                 "version = -1\n", "version = 1.0\n"}) {
    EXPECT_EQ(parse_error(text).id(), "lock.invalid") << text;
  }
}

TEST(Lockfile, NamesEveryFaultWithItsPlace) {
  const Error error = parse_error(
      "version = 1\nimagee = \"a\"\nindex = \"sha256:12\"\n[platform.\"linux/arm64\"]\nmanifest = "
      "\"" +
      digest_text('0') + "\"\nconfig = 7\nchian = \"x\"\ndownload_bytes = -1\n");

  EXPECT_EQ(error.id(), "lock.invalid");
  EXPECT_STREQ(error.what(), "p.lock is not a valid lockfile");
  EXPECT_EQ(error.problems(), (std::vector<std::string>{
                                  "p.lock:2:1: unknown key `imagee` (did you mean `image`?)",
                                  "p.lock:3:1: `index` is not a digest: `sha256:12`",
                                  "p.lock:6:1: `config` must be a string, not a whole number",
                                  "p.lock:7:1: unknown key `chian` (did you mean `chain`?)",
                                  "p.lock:8:1: `download_bytes` must be a whole number of bytes",
                                  "p.lock: `image` is missing"}));
}

TEST(Lockfile, RefusesWhatIsNoLock) {
  const std::string head = "version = 1\nimage = \"a\"\n",
                    index = "index = \"" + digest_text('0') + "\"\n";
  const std::string manifest = "manifest = \"" + digest_text('0') + "\"\n";
  const std::pair<const char*, std::string> rows[] = {
      {"no digest", head},
      {"two platforms without index",
       head + "[platform.a]\n" + manifest + "[platform.b]\n" + manifest},
      {"platform without manifest", head + index + "[platform.a]\ncreated = \"x\"\n"},
      {"platform is a value", head + index + "platform = 1\n"},
      {"platform entry is a value", head + index + "[platform]\na = 1\n"},
      {"image_env is a value", head + index + "[platform.a]\n" + manifest + "image_env = 1\n"},
      {"image_env holds a number",
       head + index + "[platform.a]\n" + manifest + "[platform.a.image_env]\nX = 1\n"},
      {"duplicate key", head + "image = \"b\"\n" + index},
      {"duplicate table", head + index + "[platform.a]\n" + manifest + "[platform.a]\n" + manifest},
      {"not TOML", "version = 1\nimage = a\n"},
      {"empty image", "version = 1\nimage = \"\"\n" + index},
  };
  for (const auto& [name, text] : rows) EXPECT_EQ(parse_error(text).id(), "lock.invalid") << name;
}

TEST(StaleReasons, NameWhatDiffers) {
  const Lockfile lock{.image = "docker.io/library/a:1",
                      .platforms = {{"linux/arm64", {.manifest = digest('0')}}}};
  struct Row {
    std::string image;
    std::vector<std::string> platforms, reasons;
  };
  const std::string image =
      "image: the profile says docker.io/library/a:2, the lock was made for docker.io/library/a:1";
  const std::string missing =
      "platforms: the profile lists linux/amd64, the lock has no such entry";
  const std::string surplus = "platforms: the lock has linux/arm64, the profile does not list it";
  const Row rows[] = {
      {"docker.io/library/a:1", {"linux/arm64"}, {}},
      {"docker.io/library/a:2", {"linux/arm64"}, {image}},
      {"docker.io/library/a:1", {"linux/arm64", "linux/amd64"}, {missing}},
      {"docker.io/library/a:1", {"linux/amd64"}, {missing, surplus}},
      {"docker.io/library/a:2", {"linux/amd64"}, {image, missing, surplus}},
  };
  for (const Row& row : rows) EXPECT_EQ(stale_reasons(lock, row.image, row.platforms), row.reasons);
}

// Two branches may move the index and add a platform without a conflict for git.
TEST(StaleReasons, NameAPlatformThatIsPinnedFromAnotherIndex) {
  Lockfile lock = Lockfile::parse(canonical(), "p.lock");
  lock.index = digest('9');

  const auto reasons = stale_reasons(lock, lock.image, {"linux/arm64"});

  ASSERT_EQ(reasons.size(), 1U);
  EXPECT_TRUE(reasons.at(0).starts_with("platforms: linux/arm64 was pinned from sha256:000"));
}

TEST(StaleReasons, NameADigestOfTheProfileThatIsNotTheLocks) {
  Lockfile lock = Lockfile::parse(canonical(), "p.lock");
  lock.image = "docker.io/library/a@" + digest_text('7');

  const auto reasons = stale_reasons(lock, lock.image, {"linux/arm64"});

  ASSERT_EQ(reasons.size(), 1U);
  EXPECT_TRUE(reasons.at(0).starts_with("image: the profile names sha256:777"));
}

TEST(StaleReasons, DoNotCountIncompleteness) {
  const Lockfile lock{.image = "a",
                      .index = digest('1'),
                      .platforms = {{"linux/arm64", {.manifest = digest('0')}}}};

  EXPECT_FALSE(lock.is_complete());
  EXPECT_TRUE(stale_reasons(lock, "a", {"linux/arm64"}).empty());
}

TEST(ReleaseVariables, AreThoseThatSayWhichReleaseItIs) {
  const auto variables =
      release_variables({"CUDA_VERSION=13.0.1.012", "PYTORCH_VERSION=2.9.0a0",
                         "NVIDIA_PYTORCH_VERSION=25.09", "PATH=/bin", "NVIDIA_VISIBLE_DEVICES=all",
                         "MY_VERSION=1", "VLLM_VERSION", "NCCL_VERSION=a=b"});

  EXPECT_EQ(variables, (std::map<std::string, std::string>{{"CUDA_VERSION", "13.0.1.012"},
                                                           {"PYTORCH_VERSION", "2.9.0a0"},
                                                           {"NVIDIA_PYTORCH_VERSION", "25.09"},
                                                           {"VLLM_VERSION", ""},
                                                           {"NCCL_VERSION", "a=b"}}));
}

}  // namespace
}  // namespace sparkrun::lock
