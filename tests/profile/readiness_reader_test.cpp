// SPDX-License-Identifier: MIT
#include "profile/readiness_reader.hpp"

#include "base/error.hpp"
#include "profile/reader.hpp"
#include "support/error_of.hpp"

#include <gtest/gtest.h>

namespace sparkrun::profile {
namespace {

Profile read(const std::string& ready) {
  return read_profile("version = 1\nimage = \"a/b:1\"\n[ready]\n" + ready, "p.toml");
}

std::string fault_of(const std::string& ready) {
  const Error error = test::error_of([&] { read(ready); });
  EXPECT_EQ(error.id(), "profile.invalid");
  return error.problems().empty() ? "" : error.problems().front();
}

TEST(ReadinessReader, ReadsAUrlOrAPattern) {
  const auto http = read("http = \"http://localhost:8000/health\"\n").ready;
  EXPECT_EQ(http->http, "http://localhost:8000/health");
  EXPECT_EQ(http->timeout, std::chrono::minutes{20});

  const auto log = read("log = 'ready \\d+'\ntimeout = \"90s\"\n").ready;
  EXPECT_EQ(log->log, "ready \\d+");
  EXPECT_EQ(log->timeout, std::chrono::seconds{90});

  EXPECT_FALSE(read_profile("version = 1\nimage = \"a/b:1\"\n", "p.toml").ready);
}

TEST(ReadinessReader, WantsExactlyOneOfThem) {
  EXPECT_NE(fault_of("timeout = \"1m\"\n").find("one of `http` and `log`"), std::string::npos);
  EXPECT_NE(fault_of("http = \"http://localhost/\"\nlog = \"x\"\n").find("one of"),
            std::string::npos);
}

// A checkout must not make this machine ask others.
TEST(ReadinessReader, AsksNobodyButThisMachine) {
  for (const std::string url :
       {"http://169.254.169.254/latest", "http://localhost.example/", "http://localhost@example/",
        "http://127.0.0.1:80@example/", "https://localhost/", "file:///etc/passwd", "localhost:80",
        "http://localhost:0/", "http://localhost:99999/", "http://127.0.0.1\\\\@example/"}) {
    EXPECT_NE(fault_of("http = \"" + url + "\"\n").find("must be a URL on this machine"),
              std::string::npos)
        << url;
  }
  for (const std::string url : {"http://localhost", "http://127.0.0.1:8000/x?y", "http://[::1]:1/"})
    EXPECT_NO_THROW(read("http = \"" + url + "\"\n")) << url;
}

TEST(ReadinessReader, SaysWhatIsWrong) {
  EXPECT_NE(fault_of("log = \"(\"\n").find("is not a regular expression: missing"),
            std::string::npos);
  EXPECT_NE(fault_of("log = \"x\"\ntimeout = \"soon\"\n").find("up to 24d, not `soon`"),
            std::string::npos);
  EXPECT_NE(fault_of("log = \"x\"\ntimeout = \"0\"\n").find("not `0`"), std::string::npos);
  EXPECT_NE(fault_of("log = \"x\"\nport = 1\n").find("unknown key"), std::string::npos);
}

TEST(ReadinessReader, AnExtendedProfileCanBeTakenBack) {
  const TomlNode base = parse_profile(
      "version = 1\nimage = \"a/b:1\"\n[ready]\nlog = \"x\"\ntimeout = \"5m\"\n", "base.toml");
  const TomlNode over = parse_profile(
      "version = 1\n[ready]\nlog = \"\"\nhttp = \"http://localhost/\"\n", "over.toml");

  const auto ready = build_profile(merge_profiles(base, over), "over.toml").ready;

  EXPECT_EQ(ready->http, "http://localhost/");
  EXPECT_EQ(ready->log, "");
  EXPECT_EQ(ready->timeout, std::chrono::minutes{5});
}

}  // namespace
}  // namespace sparkrun::profile
