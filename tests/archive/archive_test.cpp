// SPDX-License-Identifier: MIT
#include "archive/archive.hpp"

#include "archive/store.hpp"
#include "base/error.hpp"
#include "support/fake_layout.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace sparkrun::archive {
namespace {

const std::string repository = "https://reg.test/v2/app";

class ArchiveTest : public testing::Test {
 protected:
  ArchiveTest() {
    http.on(repository + "/manifests/" + test::digest_of(index)).reply(200, index);
    for (const auto& image : {arm, amd, proof}) test::serve_whole(http, repository, image);
  }

  Report run(const oci::RegistryOptions& options = {}) { return run_all({locked}, options); }
  Report run_all(const std::vector<lock::LockedProfile>& images,
                 const oci::RegistryOptions& options = {}) {
    oci::Registry registry{http, {}, options};
    return archive(images, folder / "out", registry, watch);
  }
  template <typename Action>
  std::string error_of(Action&& action) {
    try {
      action();
    } catch (const Error& error) {
      message = error.what();
      return std::string{error.id()};
    }
    return "none";
  }
  [[nodiscard]] std::string blob(const std::string& body) const {
    return folder.read("out/" + test::blob_path(body));
  }
  // No file under another name than its digest.
  void expect_whole_blobs() const {
    for (const std::string& name : sys::list_files(folder / "out/blobs/sha256")) {
      EXPECT_EQ(name, sha256_hex(folder.read("out/blobs/sha256/" + name)));
    }
  }
  static size_t fetched(const Report& report) {
    return static_cast<size_t>(std::ranges::count(report.blobs, true, &ArchivedBlob::was_fetched));
  }

  test::WholeImage arm = test::make_whole_image("linux/arm64", std::string(5000, 'a'));
  test::WholeImage amd = test::make_whole_image("linux/amd64", "layer of amd");
  test::WholeImage proof = test::make_whole_image("unknown/unknown", "attestation");
  std::string index = test::make_index(
      {test::child_of(amd), test::child_of(arm), test::attestation_child(proof, arm.manifest)});
  lock::LockedProfile locked{"job", test::lock_of("reg.test/app:1", index, {arm, amd})};
  test::TempDir folder;
  test::FakeHttp http;
  Watch watch;
  std::string message;
};

TEST_F(ArchiveTest, StoresAllOfTheLockedPlatformsByTheirDigests) {
  const Report report = run();

  for (const auto& image : {arm, amd, proof}) {
    EXPECT_EQ(blob(image.manifest), image.manifest);
    EXPECT_EQ(blob(image.config), image.config);
    EXPECT_EQ(blob(image.layer), image.layer);
  }
  EXPECT_EQ(blob(index), index);
  EXPECT_EQ(report.blobs.size(), 10U);
  EXPECT_EQ(fetched(report), 10U);
  EXPECT_EQ(report.images.at(0).left_out, 0U);
  const auto images = parse_index(folder.read("out/index.json"));
  ASSERT_EQ(images.size(), 1U);
  EXPECT_EQ(images[0].reference, "reg.test/app:1");
  EXPECT_EQ(images[0].root.digest, Digest::sha256_of(index));
  expect_whole_blobs();
}

TEST_F(ArchiveTest, AsksForDigestsOnly) {
  run();

  for (const std::string& url : http.urls()) {
    EXPECT_NE(url.find("/sha256:"), std::string::npos) << url;
  }
}

TEST_F(ArchiveTest, ASecondOneAsksForNothing) {
  run();
  const size_t before = http.requests().size();
  const std::string text = folder.read("out/index.json");

  const Report report = run();

  EXPECT_EQ(http.requests().size(), before);
  EXPECT_EQ(fetched(report), 0U);
  EXPECT_EQ(report.blobs.size(), 10U);
  EXPECT_EQ(folder.read("out/index.json"), text);
  EXPECT_EQ(fetched(run({.offline = true})), 0U);
}

TEST_F(ArchiveTest, FetchesAWrongBlobAnewAndNothingElse) {
  run();
  folder.write("out/" + test::blob_path(arm.layer), std::string(5000, 'b'));
  folder.write("out/" + test::blob_path(amd.manifest), "{}");
  const size_t before = http.requests().size();

  const Report report = run();

  EXPECT_EQ(http.requests().size(), before + 2);
  EXPECT_EQ(fetched(report), 2U);
  expect_whole_blobs();
}

TEST_F(ArchiveTest, IsRefusedOfflineBeforeAnythingIsAsked) {
  EXPECT_EQ(error_of([&] { run({.offline = true}); }), "registry.offline");
  EXPECT_TRUE(http.requests().empty());
  run();
  fs::remove(folder / "out" / test::blob_path(arm.layer));
  EXPECT_EQ(error_of([&] { run({.offline = true}); }), "registry.offline");
}

TEST_F(ArchiveTest, GoesOnWhereADownloadWasCutOff) {
  auto& layer = http.on(repository + "/blobs/" + test::digest_of(arm.layer));
  layer.cut_off(200, arm.layer.substr(0, 1000));
  layer.reply(206, arm.layer.substr(1000), {{"Content-Range", "bytes 1000-4999/5000"}});

  run();

  EXPECT_EQ(blob(arm.layer), arm.layer);
  const auto& headers = http.requests().back().headers;
  EXPECT_NE(std::ranges::find(headers, std::pair<std::string, std::string>{"Range", "bytes=1000-"}),
            headers.end());
}

TEST_F(ArchiveTest, ADownloadThatComesFurtherIsNotGivenUp) {
  constexpr size_t mib = size_t{1} << 20, cuts = 6;
  const std::string large(mib * (cuts + 1), 'l');
  const auto image = test::make_whole_image("linux/arm64", large);
  test::serve_whole(http, repository, image);
  auto& layer = http.on(repository + "/blobs/" + test::digest_of(large));
  layer.cut_off(200, large.substr(0, mib));
  for (size_t i = 1; i < cuts; ++i) {
    layer.cut_off(206, large.substr(0, mib),
                  {{"Content-Range", fmt::format("bytes {}-{}/*", mib * i, large.size() - 1)}});
  }
  layer.reply(206, large.substr(0, mib),
              {{"Content-Range", fmt::format("bytes {}-{}/*", mib * cuts, large.size() - 1)}});

  run_all({{"job", test::lock_of("reg.test/app:2", "", {image})}});

  EXPECT_TRUE(blob(large) == large);
}

TEST_F(ArchiveTest, GoesBackToTheRegistryWhenAnotherHostCutsOff) {
  http.on(repository + "/blobs/" + test::digest_of(arm.layer))
      .reply(307, "", {{"Location", "https://cdn.test/x?sig=1"}})
      .reply(307, "", {{"Location", "https://cdn.test/x?sig=2"}});
  http.on("https://cdn.test/x?sig=1").cut_off(200, arm.layer.substr(0, 1000)).reply(403);
  http.on("https://cdn.test/x?sig=2")
      .with("Range", "bytes=1000-")
      .reply(206, arm.layer.substr(1000), {{"Content-Range", "bytes 1000-4999/5000"}});

  run();

  EXPECT_EQ(blob(arm.layer), arm.layer);
  EXPECT_EQ(http.count("https://cdn.test/x?sig=1"), 1);
}

TEST_F(ArchiveTest, BeginsAgainWhereTheServerKnowsNoRanges) {
  auto& layer = http.on(repository + "/blobs/" + test::digest_of(arm.layer));
  layer.cut_off(200, arm.layer.substr(0, 1000));
  layer.reply(200, arm.layer);

  run();

  EXPECT_EQ(blob(arm.layer), arm.layer);
}

TEST_F(ArchiveTest, GivesUpAfterThreeTriesThatBringNothing) {
  auto& layer = http.on(repository + "/blobs/" + test::digest_of(arm.layer));
  layer.cut_off(200, arm.layer.substr(0, 1000)).fail(sys::HttpFault::timeout);

  EXPECT_EQ(error_of([&] { run(); }), "registry.timeout");
  EXPECT_EQ(http.count(repository + "/blobs/" + test::digest_of(arm.layer)), 3);
  expect_whole_blobs();
  EXPECT_FALSE(fs::exists(folder / "out/index.json"));
}

TEST_F(ArchiveTest, BlobsThatAreNotWhatTheirDigestSaysAreRefusedAndNotStored) {
  for (const std::string& wrong :
       {std::string(5000, 'b'), std::string(4999, 'a'), std::string(5001, 'a'), std::string{}}) {
    http.on(repository + "/blobs/" + test::digest_of(arm.layer)).reply(200, wrong);

    EXPECT_EQ(error_of([&] { run(); }), "registry.content_mismatch") << wrong.size();

    EXPECT_NE(message.find("registry reg.test"), std::string::npos) << message;
    EXPECT_FALSE(fs::exists(folder / "out" / test::blob_path(arm.layer)));
    expect_whole_blobs();
  }
}

TEST_F(ArchiveTest, AManifestThatIsNotWhatItsDigestSaysIsRefused) {
  http.on(repository + "/manifests/" + test::digest_of(arm.manifest)).reply(200, amd.manifest);

  EXPECT_EQ(error_of([&] { run(); }), "registry.content_mismatch");
}

TEST_F(ArchiveTest, AGoneLayerIsNamed) {
  http.on(repository + "/blobs/" + test::digest_of(arm.layer)).reply(404);

  EXPECT_EQ(error_of([&] { run(); }), "registry.not_found");
  EXPECT_NE(message.find(test::digest_of(arm.layer)), std::string::npos) << message;
}

TEST_F(ArchiveTest, FollowsABlobToAnotherHostWithoutTheLogin) {
  http.on(repository + "/blobs/" + test::digest_of(arm.layer))
      .reply(307, "", {{"Location", "https://cdn.test/x?sig=1"}});
  http.on("https://cdn.test/x?sig=1").reply(200, arm.layer);

  run();

  EXPECT_EQ(blob(arm.layer), arm.layer);
}

TEST_F(ArchiveTest, GivesBlobsNoTimeLimitButSilence) {
  run({.timeouts = {.first_byte = std::chrono::milliseconds{2}}});

  for (const auto& request : http.requests()) {
    const bool is_blob = request.url.find("/blobs/") != std::string::npos;
    EXPECT_EQ(request.limits.total_timeout.count() == 0, is_blob) << request.url;
    EXPECT_EQ(request.limits.silence_timeout.count(), 2);
  }
}

TEST_F(ArchiveTest, ArchivesAddUp) {
  const lock::LockedProfile other{"other", test::lock_of("reg.test/app:single", "", {amd})};
  run();

  const Report report = run_all({other});

  EXPECT_EQ(fetched(report), 0U);  // its build is part of the first one
  const auto images = parse_index(folder.read("out/index.json"));
  ASSERT_EQ(images.size(), 2U);
  EXPECT_EQ(images[1].root.digest, Digest::sha256_of(amd.manifest));
}

TEST_F(ArchiveTest, TwoProfilesOfOneImageAreOneEntry) {
  const lock::LockedProfile one{"b", test::lock_of("reg.test/app:1", index, {arm})};
  const lock::LockedProfile two{"a", test::lock_of("reg.test/app:1", index, {amd})};

  const Report report = run_all({one, two});

  ASSERT_EQ(report.images.size(), 1U);
  EXPECT_EQ(report.images[0].image.profiles, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(report.images[0].left_out, 0U);
}

TEST_F(ArchiveTest, AFallbackIsListedUnderItsOwnName) {
  locked.lock.taken = "reg.test/app:0";

  EXPECT_EQ(run().images.at(0).image.reference, "reg.test/app:0");
}

TEST_F(ArchiveTest, SaysHowManyChildrenOfTheIndexAreLeftOut) {
  const lock::LockedProfile sparse{"job", test::lock_of("reg.test/app:1", index, {amd})};

  EXPECT_EQ(run_all({sparse}).images.at(0).left_out, 2U);
}

TEST_F(ArchiveTest, LeavesAFolderAloneThatHoldsSomethingElse) {
  folder.write("out/thesis.txt", "important");

  EXPECT_EQ(error_of([&] { run(); }), "archive.invalid");
  EXPECT_EQ(sys::list_files(folder / "out"), std::vector<std::string>{"thesis.txt"});
}

TEST_F(ArchiveTest, TakesAwayWhatAKilledOneLeft) {
  run();
  folder.write("out/" + test::blob_path(arm.layer) + ".aB3xYz", "half");

  run();

  expect_whole_blobs();
}

TEST_F(ArchiveTest, TwoDoNotWriteToOneFolderAtOnce) {
  const auto other = Store{folder / "out"}.open_to_write();

  EXPECT_EQ(error_of([&] { run(); }), "file.unwritable");
}

TEST_F(ArchiveTest, TellsHowFarItIs) {
  Progress last;
  watch.progress = [&](const Progress& now) { last = now; };

  run();

  EXPECT_EQ(last.doing, "fetching");
  EXPECT_EQ(last.bytes, last.bytes_total);
  EXPECT_EQ(last.blobs, 6U);
  EXPECT_EQ(last.blobs_total, 6U);
}

TEST_F(ArchiveTest, CanBeInterruptedWhileItHashesWhatIsThere) {
  run();
  watch.checkpoint = [] { throw Error{"interrupted", "by a test"}; };

  EXPECT_EQ(error_of([&] { run(); }), "interrupted");
}

TEST_F(ArchiveTest, ATokenMayExpireManyTimes) {
  http.on("https://auth.test/t?scope=repository%3Aapp%3Apull&service=reg")
      .reply(200, R"({"token":"t"})");
  const std::string index_url = repository + "/manifests/" + test::digest_of(index);
  http.on(index_url).reply(401, "", test::bearer_challenge("https://auth.test/t"));
  http.on(index_url).with("Authorization", "Bearer t").reply(200, index);
  for (const auto& image : {arm, amd, proof}) {
    for (const std::string& body : {image.config, image.layer}) {
      http.on(repository + "/blobs/" + test::digest_of(body))
          .with("Authorization", "Bearer t")
          .reply(401, "", test::bearer_challenge("https://auth.test/t"))
          .reply(200, body);
      http.on(repository + "/blobs/" + test::digest_of(body))
          .reply(401, "", test::bearer_challenge("https://auth.test/t"));
    }
  }

  EXPECT_EQ(error_of([&] { run(); }), "none") << message;
}

}  // namespace
}  // namespace sparkrun::archive
