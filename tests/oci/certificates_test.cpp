// SPDX-License-Identifier: MIT
#include "oci/certificates.hpp"

#include "base/error.hpp"
#include "support/temp_dir.hpp"

#include <gtest/gtest.h>

namespace sparkrun::oci {
namespace {

class CertificatesTest : public testing::Test {
 protected:
  Certificates certificates(const std::string& ca_pem = "") {
    return {ca_pem, false, {folder / "own", folder / "system"}};
  }
  test::TempDir folder;
};

TEST_F(CertificatesTest, AreThoseOfTheHostsFolder) {
  folder.write("system/reg.test:5000/ca.crt", "CA");
  folder.write("system/reg.test:5000/client.cert", "C");
  folder.write("system/reg.test:5000/client.key", "K");
  folder.write("system/reg.test:5000/note.txt", "x");
  Certificates found = certificates();

  const sys::HttpTls tls = found.find("reg.test:5000", "reg.test:5000");

  EXPECT_EQ(tls.ca_pem, "CA\n");
  EXPECT_EQ(tls.client_certificate, folder / "system/reg.test:5000/client.cert");
  EXPECT_EQ(tls.client_key, folder / "system/reg.test:5000/client.key");
  EXPECT_TRUE(found.is_ca_named("reg.test:5000"));
  EXPECT_FALSE(found.is_ca_named("reg.test"));
  EXPECT_EQ(found.find("reg.test", "reg.test").ca_pem, "");
}

TEST_F(CertificatesTest, AreThoseOfAllFoldersThatKnowTheHost) {
  folder.write("own/reg.test/ca.crt", "OWN");
  folder.write("system/reg.test/ca.crt", "SYSTEM");

  EXPECT_EQ(certificates().find("reg.test", "reg.test").ca_pem, "OWN\nSYSTEM\n");
}

TEST_F(CertificatesTest, CountForTheTokenServerOfTheRegistryToo) {
  folder.write("own/reg.test/ca.crt", "REG");
  folder.write("own/reg.test/c.cert", "C");
  folder.write("own/reg.test/c.key", "K");
  folder.write("own/auth.test/ca.crt", "AUTH");
  Certificates found = certificates("ALL\n");

  const sys::HttpTls tls = found.find("auth.test", "reg.test");

  EXPECT_EQ(tls.ca_pem, "ALL\nAUTH\nREG\n");
  EXPECT_EQ(tls.client_certificate, "");
}

TEST_F(CertificatesTest, OfDockerHubMayStandUnderItsShortName) {
  folder.write("own/docker.io/ca.crt", "HUB");

  EXPECT_EQ(certificates().find("registry-1.docker.io", "registry-1.docker.io").ca_pem, "HUB\n");
}

TEST_F(CertificatesTest, OfAClientNeedAKey) {
  folder.write("own/reg.test/c.cert", "C");

  try {
    static_cast<void>(certificates().find("reg.test", "reg.test"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.id(), "certificates.invalid");
  }
}

TEST(CertificateFolders, AreDockersAndPodmans) {
  EXPECT_EQ(certificate_folders({.variables = {{"HOME", "/h"}}}),
            (std::vector<std::filesystem::path>{"/h/.config/containers/certs.d",
                                                "/h/.config/docker/certs.d",
                                                "/etc/containers/certs.d", "/etc/docker/certs.d"}));
}

}  // namespace
}  // namespace sparkrun::oci
