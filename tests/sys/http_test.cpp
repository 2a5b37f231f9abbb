// SPDX-License-Identifier: MIT
#include "sys/http.hpp"

#include "support/fake_http.hpp"

#include <gtest/gtest.h>

namespace sparkrun::sys {
namespace {

TEST(HttpResponse, FindsHeadersWithoutCase) {
  const HttpResponse response{
      .headers = {{"WWW-Authenticate", "Basic"}, {"Link", "a"}, {"www-authenticate", "Bearer"}}};

  EXPECT_EQ(response.header("www-AUTHENTICATE"), std::optional<std::string>{"Basic"});
  EXPECT_EQ(response.all_headers("Www-Authenticate"),
            (std::vector<std::string>{"Basic", "Bearer"}));
  EXPECT_EQ(response.header("Location"), std::nullopt);
  EXPECT_TRUE(response.all_headers("Location").empty());
}

TEST(Http, SendsOneRequest) {
  test::FakeHttp http;
  http.on("http://docker/_ping").reply(200, "OK");

  const HttpResponse response =
      http.send({.url = "http://docker/_ping", .unix_socket = "/run/docker.sock"});

  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.body, "OK");
  EXPECT_EQ(http.requests().at(0).unix_socket, "/run/docker.sock");
}

}  // namespace
}  // namespace sparkrun::sys
