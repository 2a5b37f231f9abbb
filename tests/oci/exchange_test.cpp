// SPDX-License-Identifier: MIT
#include "oci/exchange.hpp"

#include "base/error.hpp"
#include "support/fake_http.hpp"

#include <gtest/gtest.h>

#include <optional>

namespace sparkrun::oci {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::FakeHttp;

const std::string url = "https://reg.test/v2/app/manifests/1";

// One request by an Exchange, to its end.
class OneExchange final : public sys::HttpConversation {
 public:
  OneExchange(const RegistryOptions& options, sys::HttpRequest request)
      : exchange(options, certificates_), request_(std::move(request)) {
    exchange.go_to("reg.test", "https://reg.test");
  }
  sys::HttpStep begin() override {
    return guarded([&] { return exchange.begin(request_); });
  }
  sys::HttpStep on_response(const sys::HttpResponse& response) override {
    return guarded([&]() -> sys::HttpStep {
      auto outcome = exchange.on_response(response);
      if (auto* const step = std::get_if<sys::HttpStep>(&outcome)) return *step;
      answer = std::get<sys::HttpResponse>(outcome);
      return sys::HttpDone{};
    });
  }
  sys::HttpStep resume() override {
    return guarded([&] { return exchange.resume(); });
  }

 private:
  template <typename Step>
  sys::HttpStep guarded(Step&& step) {
    try {
      return step();
    } catch (const Error& thrown) {
      error = thrown;
      return sys::HttpDone{};
    }
  }
  Certificates certificates_;

 public:
  Exchange exchange;
  sys::HttpResponse answer;
  std::optional<Error> error;

 private:
  sys::HttpRequest request_;
};

class ExchangeTest : public testing::Test {
 protected:
  sys::HttpResponse send(sys::HttpRequest request = {.url = url}) {
    exchange.emplace(options, std::move(request));
    const std::vector<sys::HttpConversation*> conversations = {&*exchange};
    http.run(conversations);
    return exchange->answer;
  }
  std::string error_id() { return exchange->error ? std::string{exchange->error->id()} : "none"; }
  FakeHttp::Headers to(const std::string& target) { return {{"Location", target}}; }

  FakeHttp http;
  RegistryOptions options;
  std::optional<OneExchange> exchange;
};

TEST_F(ExchangeTest, TriesAgainWhereThatMayHelp) {
  for (const int status : {408, 429, 500, 502, 503, 504, 599}) {
    FakeHttp server;
    http = server;
    http.on(url).reply(status).reply(200, "ok");

    EXPECT_EQ(send().body, "ok") << status;
  }
  for (const auto fault : {sys::HttpFault::resolve, sys::HttpFault::connect,
                           sys::HttpFault::timeout, sys::HttpFault::protocol}) {
    http = {};
    http.on(url).fail(fault).reply(200, "ok");

    EXPECT_EQ(send().body, "ok");
  }
}

TEST_F(ExchangeTest, DoesNotTryAgainWhatWillNotChange) {
  for (const int status : {200, 400, 401, 403, 404, 405, 501, 505}) {
    http = {};
    http.on(url).reply(status);

    EXPECT_EQ(send().status, status);
    EXPECT_EQ(http.requests().size(), 1U) << status;
  }
  for (const auto fault : {sys::HttpFault::tls, sys::HttpFault::too_large}) {
    http = {};
    http.on(url).fail(fault);

    EXPECT_EQ(send().fault, fault);
    EXPECT_EQ(http.requests().size(), 1U);
  }
}

TEST_F(ExchangeTest, TriesThreeTimesWithGrowingPauses) {
  http.on(url).reply(503);

  EXPECT_EQ(send().status, 503);
  EXPECT_EQ(http.requests().size(), 3U);
  EXPECT_EQ(exchange->exchange.requests(), 3);
  ASSERT_EQ(http.pauses().size(), 2U);
  EXPECT_EQ(http.pauses().at(0).shortest, milliseconds{125});
  EXPECT_EQ(http.pauses().at(0).longest, milliseconds{375});
  EXPECT_EQ(http.pauses().at(1).shortest, milliseconds{500});
  EXPECT_EQ(http.pauses().at(1).longest, milliseconds{1500});
}

TEST_F(ExchangeTest, WaitsAsLongAsTheServerAsks) {
  http.on(url)
      .reply(429, "", {{"Retry-After", "7"}})
      .reply(503, "",
             {{"Retry-After", "Mon, 30 Nov 2026 12:00:20 GMT"},
              {"Date", "Mon, 30 Nov 2026 12:00:00 GMT"}})
      .reply(200, "ok");

  EXPECT_EQ(send().body, "ok");
  ASSERT_EQ(http.pauses().size(), 2U);
  EXPECT_EQ(http.pauses().at(0).longest, seconds{7});
  EXPECT_EQ(http.pauses().at(0).shortest, seconds{7});
  EXPECT_EQ(http.pauses().at(1).longest, seconds{20});
}

TEST_F(ExchangeTest, GivesUpAtOnceWhereTheServerAsksForTooLong) {
  http.on(url).reply(429, "", {{"Retry-After", "21"}});

  EXPECT_EQ(send().status, 429);
  EXPECT_TRUE(http.pauses().empty());
}

TEST_F(ExchangeTest, SaysThatItWaits) {
  std::vector<std::string> said;
  options.notice = [&](const std::string& text) { said.push_back(text); };
  http.on(url).reply(429, "", {{"Retry-After", "7"}}).reply(503).reply(200);

  send();

  ASSERT_EQ(said.size(), 2U);
  EXPECT_EQ(said.at(0), "reg.test: HTTP 429; trying again in 7 s");
}

TEST_F(ExchangeTest, GivesEachTryWhatIsLeftOfTheTime) {
  http.on(url)
      .fail(sys::HttpFault::timeout)
      .after(seconds{30})
      .fail(sys::HttpFault::timeout)
      .after(seconds{20});

  EXPECT_EQ(send().fault, sys::HttpFault::timeout);
  ASSERT_EQ(http.requests().size(), 3U);
  EXPECT_EQ(http.requests().at(0).limits.total_timeout, seconds{30});
  EXPECT_EQ(http.requests().at(1).limits.total_timeout, milliseconds{55'000 - 30'000 - 375});
  EXPECT_EQ(http.requests().at(2).limits.total_timeout, milliseconds{5'000 - 375 - 1500});
}

TEST_F(ExchangeTest, EndsWhenTheTimeOfTheReferenceIsOver) {
  http.on(url).reply(307, "", to("/next")).after(seconds{55});

  send();

  EXPECT_EQ(error_id(), "registry.timeout");
}

TEST_F(ExchangeTest, FollowsRedirectsAndKeepsTheAuthorizationWithinTheOrigin) {
  http.on(url).reply(307, "", to("/other/place"));
  http.on("https://reg.test/other/place").reply(200, "ok");

  EXPECT_EQ(send({.url = url, .headers = {{"Authorization", "Bearer t0k"}}}).body, "ok");
  EXPECT_EQ(http.requests().at(1).headers.size(), 1U);
  EXPECT_EQ(exchange->exchange.url(), "https://reg.test/other/place");
}

// GHSA-vh4v-2xq2-g5cg: another port is another origin.
TEST_F(ExchangeTest, WithholdsTheAuthorizationFromAnotherOrigin) {
  for (const std::string target : {"https://reg.test:444/x", "https://cdn.test/x", "//cdn.test/x",
                                   "https://reg.test.evil.test/x"}) {
    http = {};
    http.on(url).reply(302, "", to(target));
    const std::string whole = target.starts_with("//") ? "https:" + target : target;
    http.on(whole).reply(307, "", to(whole + "2"));
    http.on(whole + "2").reply(200, "ok");

    const auto answer =
        send({.url = url, .headers = {{"Accept", "a"}, {"authorization", "Bearer t0k"}}});

    EXPECT_EQ(answer.body, "ok");
    const FakeHttp::Headers without = {{"Accept", "a"}};
    EXPECT_EQ(http.requests().at(1).headers, without) << target;
    EXPECT_EQ(http.requests().at(2).headers, without) << target;
    EXPECT_TRUE(http.requests().at(2).is_public_only);
  }
}

TEST_F(ExchangeTest, DoesNotGoEverywhere) {
  for (const std::string target :
       {"http://reg.test/x", "http://cdn.test/x", "ftp://reg.test/x", "file:///etc/passwd",
        "https://169.254.169.254/latest", "https://127.0.0.1/", "https://localhost:5000/",
        "https://[::1]/", "https://10.0.0.1/", "https://me@reg.test/", "https:///x"}) {
    http = {};
    http.on(url).reply(302, "", to(target));

    EXPECT_EQ(send().fault, sys::HttpFault::redirect) << target;
    EXPECT_EQ(http.requests().size(), 1U) << target;
  }
}

TEST_F(ExchangeTest, ShowsNeitherPasswordNorSignatureOfARedirect) {
  http.on(url).reply(302, "", to("https://me:hunter2@cdn.test/x?X-Amz-Signature=s1gned"));

  const std::string text = send().fault_text;

  EXPECT_NE(text.find("cdn.test"), std::string::npos) << text;
  EXPECT_EQ(text.find("hunter2"), std::string::npos) << text;
  EXPECT_EQ(text.find("s1gned"), std::string::npos) << text;
}

TEST_F(ExchangeTest, GoesToPrivateAddressesWhereTheRegistryIsOnOne) {
  http.on(url).reply(302, "", to("https://10.0.0.1/x")).from("10.0.0.9");
  http.on("https://10.0.0.1/x").reply(200, "ok");

  EXPECT_EQ(send().body, "ok");
  EXPECT_FALSE(http.requests().at(1).is_public_only);
}

TEST_F(ExchangeTest, CountsRedirects) {
  http.on(url).reply(302, "", to(url));

  EXPECT_EQ(send().fault, sys::HttpFault::redirect);
  EXPECT_EQ(http.requests().size(), 6U);
}

TEST_F(ExchangeTest, SendsABodyNowhereElse) {
  http.on(url).reply(307, "", to("https://cdn.test/"));

  EXPECT_EQ(send({.method = "POST", .url = url, .body = "secret"}).status, 307);
}

TEST_F(ExchangeTest, UsesTheProxyOfTheScheme) {
  options.proxies = {.http = "http://h:1", .https = "http://s:2", .none = "x.test"};
  http.on(url).reply(200);

  send();

  EXPECT_EQ(http.requests().at(0).proxy, "http://s:2");
  EXPECT_EQ(http.requests().at(0).no_proxy, "x.test");
}

TEST(RetryAfter, IsANumberOrADate) {
  const auto read = [](const std::string& value, const std::string& date = "") {
    return retry_after({.headers = {{"retry-after", value}, {"date", date}}});
  };
  const std::string noon = "Mon, 30 Nov 2026 12:00:00 GMT";

  EXPECT_EQ(read("0"), seconds{0});
  EXPECT_EQ(read(" 120 "), seconds{120});
  EXPECT_EQ(read("Mon, 30 Nov 2026 12:00:03 GMT", noon), seconds{3});
  EXPECT_EQ(read("Mon, 30 Nov 2026 11:00:00 GMT", noon), seconds{0});
  EXPECT_EQ(read("99999999999999999"), std::chrono::days{3650});
  EXPECT_EQ(read("99999999999999999999"), std::chrono::days{3650});
  EXPECT_EQ(read("Mon, 30 Nov 2026 12:00:03 GMT"), std::nullopt);
  for (const std::string text : {"", "soon", "-1", "1.5", "Mon, 30 Nov 2026 12:00:03 CET"}) {
    EXPECT_EQ(read(text, noon), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace sparkrun::oci
