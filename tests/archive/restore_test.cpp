// SPDX-License-Identifier: MIT
#include "archive/restore.hpp"

#include "archive/store.hpp"
#include "base/error.hpp"
#include "base/json_value.hpp"
#include "support/fake_engine.hpp"
#include "support/fake_layout.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace sparkrun::archive {
namespace {

class RestoreTest : public testing::Test {
 protected:
  RestoreTest() { index = test::write_layout(folder, "in", {arm, amd}); }

  Selection select(const std::string& platform = "linux/arm64") {
    return select_images(folder / "in", oci::Platform::parse(platform), {});
  }
  std::string select_error(const std::string& platform = "linux/arm64") {
    try {
      select(platform);
    } catch (const Error& error) {
      message = error.what();
      return std::string{error.id()};
    }
    return "none";
  }
  [[nodiscard]] std::string path_of(const std::string& body) const {
    return "in/" + test::blob_path(body);
  }
  // The engine has the images afterwards, by this id.
  void loads_as(const std::string& id) {
    engine.on_load = [this, id](const auto&) {
      engine.images[tag] = {.id = id, .os = "linux", .architecture = "arm64"};
    };
  }

  test::WholeImage arm = test::make_whole_image("linux/arm64", "layer of arm");
  test::WholeImage amd = test::make_whole_image("linux/amd64", "layer of amd");
  test::TempDir folder;
  std::string index;
  test::FakeEngine engine;
  std::string tag = "sparkrun/archive:job-" + test::digest_of(arm.config).substr(7, 12);
  std::string message;
};

TEST_F(RestoreTest, ChoosesTheBuildOfThePlatform) {
  const Selection selection = select();

  ASSERT_EQ(selection.images.size(), 1U);
  const RestorableImage& image = selection.images[0];
  EXPECT_EQ(image.root, Digest::sha256_of(index));
  EXPECT_EQ(image.manifest.digest, Digest::sha256_of(arm.manifest));
  EXPECT_EQ(image.config, Digest::sha256_of(arm.config));
  EXPECT_EQ(image.tags, std::vector<std::string>{tag});
  EXPECT_EQ(select("linux/amd64").images[0].config, Digest::sha256_of(amd.config));
}

TEST_F(RestoreTest, ABuildThatTheArchiveLeftOutIsMissing) {
  fs::remove(folder / path_of(arm.manifest));

  EXPECT_EQ(select_error(), "registry.platform_missing");
  EXPECT_EQ(select_error("linux/amd64"), "none");
}

TEST_F(RestoreTest, RefusesEveryBlobThatIsMissingOrWrong) {
  const std::vector<std::string> bodies = {arm.layer, arm.config, arm.manifest, index};
  for (const std::string& body : bodies) {
    folder.write(path_of(body), std::string(body.size(), 'x'));
    EXPECT_EQ(select_error(), "archive.invalid");
    EXPECT_NE(message.find("does not hash to its name"), std::string::npos) << message;
    folder.write(path_of(body), body + "x");
    EXPECT_EQ(select_error(), "archive.invalid");
    folder.write(path_of(body), body);
  }
  for (const std::string& body : {arm.layer, arm.config, index}) {
    fs::remove(folder / path_of(body));
    EXPECT_EQ(select_error(), "archive.invalid");
    EXPECT_NE(message.find("is missing"), std::string::npos) << message;
    folder.write(path_of(body), body);
  }
}

TEST_F(RestoreTest, ReadsNoBlobThatIsNotAFile) {
  fs::remove(folder / path_of(arm.layer));
  fs::create_directory(folder / path_of(arm.layer));
  EXPECT_EQ(select_error(), "archive.invalid");

  fs::remove(folder / path_of(arm.layer));
  fs::create_symlink("/dev/zero", folder / path_of(arm.layer));
  EXPECT_EQ(select_error(), "archive.invalid");
}

TEST_F(RestoreTest, RefusesWhatIsNoLayout) {
  const std::string marker = folder.read("in/oci-layout"), listed = folder.read("in/index.json");
  for (const std::string text : {"", "{}", "nonsense"}) {
    folder.write("in/oci-layout", text);
    EXPECT_EQ(select_error(), "archive.invalid") << text;
  }
  folder.write("in/oci-layout", marker);
  for (const std::string& text :
       {std::string{"{}"}, std::string(200'000, '['),
        std::string{R"({"schemaVersion":2,"manifests":[]})"},
        R"({"schemaVersion":2,"manifests":[{"mediaType":"a","digest":"sha256:../x","size":1}]})" +
            std::string{}}) {
    folder.write("in/index.json", text);
    EXPECT_EQ(select_error(), "archive.invalid") << text.substr(0, 60);
  }
  fs::remove(folder / "in/index.json");
  EXPECT_EQ(select_error(), "archive.invalid");
  folder.write("in/index.json", listed);
  EXPECT_EQ(select_error(), "none");
}

TEST_F(RestoreTest, RefusesADocumentThatIsTooLargeForOne) {
  const std::string huge(document_bytes_max + 1, ' ');
  test::write_blob(folder, "in", huge);
  const LayoutImage image{.root = {.media_type = std::string{oci::media_type::oci_index},
                                   .digest = Digest::sha256_of(huge),
                                   .size = static_cast<long long>(huge.size())},
                          .reference = "reg.test/app:1"};
  folder.write("in/index.json", add_images("", {image}));

  EXPECT_EQ(select_error(), "archive.invalid");
}

TEST_F(RestoreTest, AnIndexThatHoldsItselfComesToAnEnd) {
  // A digest cannot contain itself; a chain that is too deep is the nearest thing.
  std::string inner = test::make_index({test::child_of(arm)});
  for (int depth = 0; depth < 6; ++depth) {
    test::write_blob(folder, "in", inner);
    inner = test::make_index(
        {fmt::format(R"({{"mediaType":"{}","digest":"{}","size":{}}})", oci::media_type::oci_index,
                     test::digest_of(inner), inner.size())});
  }
  test::write_blob(folder, "in", inner);
  const LayoutImage image{.root = {.media_type = std::string{oci::media_type::oci_index},
                                   .digest = Digest::sha256_of(inner),
                                   .size = static_cast<long long>(inner.size())},
                          .reference = "reg.test/app:1"};
  folder.write("in/index.json", add_images("", {image}));

  EXPECT_EQ(select_error(), "registry.platform_missing");
}

TEST_F(RestoreTest, StagesWhatBothKindsOfStoreRead) {
  Json classic, containerd;
  std::string layer;
  engine.on_load = [&](const std::vector<std::string>& producer) {
    const auto option = std::ranges::find_if(
        producer, [](const std::string& word) { return word.starts_with("--directory="); });
    const fs::path staging = option->substr(12);
    classic = parse_json(sys::read_file(staging / "manifest.json").value()).value();
    containerd = parse_json(sys::read_file(staging / "index.json").value()).value();
    layer = sys::read_file(staging / test::blob_path(arm.layer)).value_or("");
    engine.images[tag] = {.id = test::digest_of(arm.config)};
  };

  load_images(select().images, folder / "in", folder.path(), engine);

  ASSERT_EQ(classic.size(), 1U);
  EXPECT_EQ(classic[0]["Config"], test::blob_path(arm.config));
  EXPECT_EQ(classic[0]["RepoTags"], Json::array({tag}));
  EXPECT_EQ(classic[0]["Layers"], Json::array({test::blob_path(arm.layer)}));
  EXPECT_EQ(containerd["manifests"][0]["digest"], test::digest_of(arm.manifest));
  EXPECT_EQ(layer, arm.layer);
  EXPECT_EQ(sys::list_folders(folder.path()), std::vector<std::string>{"in"});  // staging is gone
}

TEST_F(RestoreTest, AcceptsTheIdsOfBothKindsOfStore) {
  for (const std::string& id : {test::digest_of(arm.config), test::digest_of(arm.manifest)}) {
    loads_as(id);
    EXPECT_NO_THROW(load_images(select().images, folder / "in", folder.path(), engine));
    EXPECT_TRUE(is_loaded(select().images[0], engine));
  }
}

TEST_F(RestoreTest, OtherContentAfterLoadingIsAnError) {
  for (const std::string& id : {test::digest_of(amd.config), std::string{"sha256:x"}}) {
    loads_as(id);
    try {
      load_images(select().images, folder / "in", folder.path(), engine);
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.id(), "engine.other_content");
    }
    EXPECT_FALSE(is_loaded(select().images[0], engine));
  }
}

}  // namespace
}  // namespace sparkrun::archive
