// SPDX-License-Identifier: MIT
#include "sys/curl_http.hpp"

#include "base/error.hpp"
#include "support/scripted_server.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <signal.h>
#include <stdlib.h>

namespace sparkrun::sys {
namespace {

using test::http_answer;
using test::ScriptedServer;

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

class CurlHttpTest : public testing::Test {
 protected:
  HttpResponse get(const std::string& url, HttpLimits limits = {}) {
    return http_.send({.url = url, .limits = limits});
  }

  // From anything to `target`, with a fixed answer there.
  static ScriptedServer::Script redirect_to(const std::string& target, int status = 307) {
    return
        [=](const std::string&) { return http_answer(status, "", "Location: " + target + "\r\n"); };
  }

  static std::string answer_ok(const std::string&) { return http_answer(200, "ok"); }

  Signals signals_;
  CurlHttp http_{signals_, "sparkrun/test"};
};

TEST_F(CurlHttpTest, GivesStatusHeadersAndBody) {
  const ScriptedServer server{[](const std::string&) {
    return http_answer(404, "gone",
                       "WWW-Authenticate: Basic\r\nWWW-Authenticate:  Bearer x=y \r\n");
  }};

  const HttpResponse response = get(server.url("/x"));

  EXPECT_EQ(response.status, 404);
  EXPECT_EQ(response.body, "gone");
  EXPECT_EQ(response.all_headers("www-authenticate"),
            (std::vector<std::string>{"Basic", "Bearer x=y"}));
  EXPECT_EQ(response.fault, HttpFault::none);
}

TEST_F(CurlHttpTest, SendsMethodHeadersAndBody) {
  const ScriptedServer server{answer_ok};

  http_.send(
      {.method = "POST", .url = server.url("/p?q=1"), .headers = {{"X-A", "b"}}, .body = "a=b"});
  http_.send({.method = "POST", .url = server.url()});
  http_.send({.method = "DELETE", .url = server.url()});

  const auto requests = server.requests();
  EXPECT_TRUE(requests.at(0).starts_with("POST /p?q=1 HTTP/1.1\r\n"));
  EXPECT_TRUE(requests.at(0).ends_with("\r\n\r\na=b"));
  EXPECT_TRUE(contains(requests.at(0), "\r\nX-A: b\r\n"));
  EXPECT_TRUE(contains(requests.at(0), "\r\nUser-Agent: sparkrun/test\r\n"));
  EXPECT_TRUE(contains(requests.at(1), "\r\nContent-Length: 0\r\n"));
  EXPECT_TRUE(requests.at(2).starts_with("DELETE "));
}

TEST_F(CurlHttpTest, AsksForPlainBytes) {
  const ScriptedServer server{answer_ok};

  get(server.url());

  EXPECT_TRUE(contains(server.requests().at(0), "\r\nAccept-Encoding: identity\r\n"));
}

TEST_F(CurlHttpTest, UnpacksWhatIsCompressedAllTheSame) {
  constexpr std::string_view gzip_of_ok{
      "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\xcb\xcf\x06\x00\x47\xdd\xdc\x79\x02\x00\x00\x00",
      22};
  const ScriptedServer server{[&](const std::string&) {
    return http_answer(200, std::string{gzip_of_ok}, "Content-Encoding: gzip\r\n");
  }};

  EXPECT_EQ(get(server.url()).body, "ok");
}

TEST_F(CurlHttpTest, ReadsNoBodyOfAHead) {
  const ScriptedServer server{[](const std::string&) {
    return std::string{"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n"};
  }};

  EXPECT_EQ(http_.send({.method = "HEAD", .url = server.url()}).header("content-length"), "99");
}

TEST_F(CurlHttpTest, StopsAtTheLargestBody) {
  const ScriptedServer server{[](const std::string&) { return http_answer(200, "12345678"); }};

  EXPECT_EQ(get(server.url(), {.body_bytes_max = 8}).body, "12345678");
  const HttpResponse response = get(server.url(), {.body_bytes_max = 7});
  EXPECT_EQ(response.fault, HttpFault::too_large);
  EXPECT_EQ(response.body, "");
}

TEST_F(CurlHttpTest, StopsAtEndlessHeaders) {
  const ScriptedServer server{[](const std::string&) {
    std::string headers;
    for (int i = 0; i < 300; ++i) headers += "X: " + std::string(1000, 'x') + "\r\n";
    return http_answer(200, "", headers);
  }};

  EXPECT_EQ(get(server.url()).fault, HttpFault::too_large);
}

TEST_F(CurlHttpTest, GivesASilentServerUp) {
  const ScriptedServer server{[](const std::string&) { return ScriptedServer::stall; }};

  const HttpResponse response =
      get(server.url(), {.total_timeout = std::chrono::milliseconds{100}});

  EXPECT_EQ(response.fault, HttpFault::timeout);
  EXPECT_EQ(response.status, 0);
}

TEST_F(CurlHttpTest, TakesHalfABodyForNone) {
  const ScriptedServer server{[](const std::string&) {
    return std::string{"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"};
  }};

  const HttpResponse response = get(server.url());

  EXPECT_EQ(response.fault, HttpFault::protocol);
  EXPECT_EQ(response.status, 0);
  EXPECT_EQ(response.body, "");
}

TEST_F(CurlHttpTest, NamesTheKindOfFault) {
  const ScriptedServer noise{
      [](const std::string&) { return std::string{"\x15\x03\x01 what?\r\n\r\n"}; }};
  const ScriptedServer silence{[](const std::string&) { return std::string{}; }};
  std::string closed_port;
  {
    const ScriptedServer gone{answer_ok};
    closed_port = gone.url();
  }

  EXPECT_EQ(get(noise.url()).fault, HttpFault::protocol);
  EXPECT_EQ(get(silence.url()).fault, HttpFault::protocol);
  EXPECT_EQ(get("https" + noise.url().substr(4)).fault, HttpFault::tls);
  EXPECT_EQ(get(closed_port).fault, HttpFault::connect);
  EXPECT_EQ(get("http://name.invalid/").fault, HttpFault::resolve);
  EXPECT_EQ(get("file:///etc/passwd").fault, HttpFault::protocol);
  EXPECT_FALSE(get(closed_port).fault_text.empty());
}

TEST_F(CurlHttpTest, GivesARedirectAsTheAnswerThatItIs) {
  const ScriptedServer other{answer_ok};
  const ScriptedServer server{redirect_to(other.url("/blob"))};

  const HttpResponse response =
      http_.send({.url = server.url(), .headers = {{"Authorization", "Bearer t0k"}}});

  EXPECT_EQ(response.status, 307);
  EXPECT_EQ(response.header("Location"), other.url("/blob"));
  EXPECT_TRUE(other.requests().empty());
}

TEST_F(CurlHttpTest, GivesASilentServerUpBeforeTheWholeTimeIsOver) {
  const ScriptedServer server{[](const std::string&) { return ScriptedServer::stall; }};

  const HttpResponse response =
      get(server.url(), {.silence_timeout = std::chrono::milliseconds{900}});

  EXPECT_EQ(response.fault, HttpFault::timeout);
  EXPECT_EQ(response.fault_text, "silent for 0.9 s");
  EXPECT_LT(response.elapsed, std::chrono::seconds{5});
}

TEST_F(CurlHttpTest, SaysWhoAnsweredAndHowLongItTook) {
  const ScriptedServer server{answer_ok};

  const HttpResponse response = get(server.url());

  EXPECT_EQ(response.peer_address, "127.0.0.1");
  EXPECT_LT(response.elapsed, std::chrono::seconds{5});
}

TEST_F(CurlHttpTest, SendsNothingToAPrivateAddressWhereItMayNot) {
  const ScriptedServer server{answer_ok};

  get(server.url());  // an open connection changes nothing
  const HttpResponse response = http_.send({.url = server.url(), .is_public_only = true});

  EXPECT_EQ(response.fault, HttpFault::private_address);
  EXPECT_EQ(response.fault_text, "its address is 127.0.0.1");
  EXPECT_EQ(std::ranges::count_if(server.requests(),
                                  [](const std::string& request) { return !request.empty(); }),
            1);
}

TEST_F(CurlHttpTest, GoesThroughTheProxyOfTheRequest) {
  const ScriptedServer proxy{answer_ok};
  const auto get_through = [&](const std::string& url, const std::string& no_proxy = "") {
    return http_.send({.url = url, .proxy = proxy.url(), .no_proxy = no_proxy});
  };

  EXPECT_EQ(get_through("http://name.invalid/x").body, "ok");
  EXPECT_TRUE(proxy.requests().at(0).starts_with("GET http://name.invalid/x HTTP/1.1\r\n"));
  EXPECT_EQ(get_through("http://name.invalid/", "name.invalid").fault, HttpFault::resolve);
  const ScriptedServer server{answer_ok};
  get_through(server.url());
  EXPECT_EQ(server.requests().size(), 1U);
}

// Keeps what it is given, as far as it may.
class StringSink final : public HttpSink {
 public:
  [[nodiscard]] long long offset() const override { return static_cast<long long>(text.size()); }
  void restart() override {
    text.clear();
    ++restarts;
  }
  bool take(std::string_view bytes) override {
    text.append(bytes);
    return text.size() <= most;
  }
  [[nodiscard]] std::optional<Error> failure() const override { return std::nullopt; }

  std::string text;
  size_t most = size_t{64} << 20;
  int restarts = 0;
};

TEST_F(CurlHttpTest, GivesABodyOfAnySizeToASink) {
  const std::string body(size_t{6} << 20, 'x');  // more than a body in memory may have
  const ScriptedServer server{[&](const std::string&) { return http_answer(200, body); }};
  StringSink sink;

  const HttpResponse response = http_.send({.url = server.url(), .sink = &sink});

  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.body, "");
  EXPECT_TRUE(sink.text == body);
}

TEST_F(CurlHttpTest, GivesASinkNothingOfAnErrorOrARedirect) {
  for (const int status : {404, 307, 401, 503}) {
    const ScriptedServer server{[&](const std::string&) { return http_answer(status, "words"); }};
    StringSink sink;

    EXPECT_EQ(http_.send({.url = server.url(), .sink = &sink}).body, "words");
    EXPECT_EQ(sink.text, "");
  }
}

TEST_F(CurlHttpTest, ASinkEndsTheRequest) {
  const ScriptedServer server{[](const std::string&) { return http_answer(200, "12345678"); }};
  StringSink sink;
  sink.most = 3;

  const HttpResponse response = http_.send({.url = server.url(), .sink = &sink});

  EXPECT_EQ(response.fault, HttpFault::stopped);
  EXPECT_EQ(response.status, 0);
}

TEST_F(CurlHttpTest, ASinkKeepsWhatCameBeforeAFaultAndGoesOnThere) {
  const ScriptedServer server{[](const std::string& request) {
    if (contains(request, "Range: bytes=4-"))
      return http_answer(206, "5678", "Content-Range: bytes 4-7/8\r\n");
    return std::string{"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n1234"};
  }};
  StringSink sink;

  EXPECT_EQ(http_.send({.url = server.url(), .sink = &sink}).fault, HttpFault::protocol);
  EXPECT_EQ(sink.text, "1234");
  http_.send({.url = server.url(), .headers = {{"Range", "bytes=4-"}}, .sink = &sink});

  EXPECT_EQ(sink.text, "12345678");
  EXPECT_EQ(sink.restarts, 1);
}

TEST_F(CurlHttpTest, ASinkTakesNoOtherPartThanTheNextOne) {
  for (const std::string header :
       {"Content-Range: bytes 3-7/8\r\n", "Content-Range: what\r\n", ""}) {
    const ScriptedServer server{
        [&](const std::string&) { return http_answer(206, "5678", header); }};
    StringSink sink;
    sink.text = "1234";

    EXPECT_EQ(http_.send({.url = server.url(), .sink = &sink}).fault, HttpFault::protocol);
    EXPECT_EQ(sink.text, "1234");
  }
}

TEST_F(CurlHttpTest, ASinkGetsStoredBytesWhateverEncodingTheyAreSaidToHave) {
  const ScriptedServer server{[](const std::string&) {
    return http_answer(200, "\x1f\x8b layer", "Content-Encoding: gzip\r\n");
  }};
  StringSink sink;

  http_.send({.url = server.url(), .sink = &sink});

  EXPECT_EQ(sink.text, "\x1f\x8b layer");
}

TEST_F(CurlHttpTest, WithoutATotalTimeOnlySilenceEndsARequest) {
  const ScriptedServer silent{[](const std::string&) { return ScriptedServer::stall; }};
  StringSink sink;

  const HttpResponse response =
      http_.send({.url = silent.url(),
                  .limits = {.silence_timeout = std::chrono::milliseconds{900},
                             .total_timeout = std::chrono::milliseconds{0}},
                  .sink = &sink});

  EXPECT_EQ(response.fault, HttpFault::timeout);
  EXPECT_EQ(response.fault_text, "silent for 0.9 s");
}

// Asks again after a pause.
class Pausing final : public HttpConversation {
 public:
  explicit Pausing(std::string url) : url_(std::move(url)) {}
  HttpStep begin() override { return HttpRequest{.url = url_}; }
  HttpStep on_response(const HttpResponse&) override {
    if (++answers > 1) return HttpDone{};
    return HttpPause{.shortest = std::chrono::milliseconds{30},
                     .longest = std::chrono::milliseconds{50}};
  }
  HttpStep resume() override { return begin(); }
  int answers = 0;

 private:
  std::string url_;
};

TEST_F(CurlHttpTest, ResumesAfterAPause) {
  const ScriptedServer server{answer_ok};
  Pausing pausing{server.url()};
  const std::vector<HttpConversation*> conversations = {&pausing};
  const auto start = std::chrono::steady_clock::now();

  http_.run(conversations);

  EXPECT_EQ(pausing.answers, 2);
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds{30});
}

TEST_F(CurlHttpTest, RefusesAHeaderWithALineEnd) {
  EXPECT_THROW(http_.send({.url = "http://127.0.0.1:1/", .headers = {{"A", "b\r\nC: d"}}}), Error);
}

TEST_F(CurlHttpTest, SpeaksOverAUnixSocket) {
  std::string folder = (std::filesystem::temp_directory_path() / "sparkrun-http-XXXXXX").string();
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  {
    const ScriptedServer server{answer_ok, folder + "/s"};

    EXPECT_EQ(http_.send({.url = "http://localhost/v1/info", .unix_socket = folder + "/s"}).body,
              "ok");
    EXPECT_TRUE(
        server.requests().at(0).starts_with("GET /v1/info HTTP/1.1\r\nHost: localhost\r\n"));
  }
  const HttpResponse absent =
      http_.send({.url = "http://localhost/", .unix_socket = folder + "/absent"});
  EXPECT_EQ(absent.fault, HttpFault::connect);
  EXPECT_TRUE(contains(absent.fault_text, "No such file")) << absent.fault_text;
  std::filesystem::remove_all(folder);
}

TEST_F(CurlHttpTest, LeavesOnASignal) {
  const ScriptedServer server{[](const std::string&) {
    kill(getpid(), SIGTERM);
    return ScriptedServer::stall;
  }};

  try {
    get(server.url());
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.id(), "interrupted");
  }
}

TEST_F(CurlHttpTest, LeavesASignalToOthersWhenItMayNotBeInterrupted) {
  const ScriptedServer server{[](const std::string&) {
    kill(getpid(), SIGTERM);
    return http_answer(200, "ok");
  }};

  const HttpResponse response = http_.send({.url = server.url(), .is_interruptible = false});

  EXPECT_EQ(response.body, "ok");
  ASSERT_TRUE(signals_.take());
}

// Asks for its URLs one after the other; in between it waits for `go`.
class Chain final : public HttpConversation {
 public:
  explicit Chain(std::vector<std::string> urls, const bool* go = nullptr)
      : urls_(std::move(urls)), go_(go) {}
  HttpStep begin() override { return next(); }
  HttpStep on_response(const HttpResponse& response) override {
    bodies += response.body;
    return next();
  }
  HttpStep resume() override { return next(); }

  std::string bodies;
  bool is_done = false;

 private:
  HttpStep next() {
    if (go_ != nullptr && !*go_) return HttpWait{};
    if (at_ == urls_.size()) {
      is_done = true;
      return HttpDone{};
    }
    return HttpRequest{.url = urls_[at_++]};
  }

  std::vector<std::string> urls_;
  const bool* go_;
  size_t at_ = 0;
};

TEST_F(CurlHttpTest, RunsConversationsSideBySide) {
  const ScriptedServer server{answer_ok};
  std::vector<std::unique_ptr<Chain>> chains;
  std::vector<HttpConversation*> conversations;
  for (int i = 0; i < 200; ++i) {
    chains.push_back(std::make_unique<Chain>(std::vector<std::string>{server.url(), server.url()}));
    conversations.push_back(chains.back().get());
  }

  http_.run(conversations);

  for (const auto& chain : chains) EXPECT_EQ(chain->bodies, "okok");
}

TEST_F(CurlHttpTest, ResumesAConversationOnceAnotherHasAdvanced) {
  const ScriptedServer server{answer_ok};
  Chain first{{server.url()}};
  Chain second{{server.url()}, &first.is_done};
  const std::vector<HttpConversation*> conversations = {&second, &first};

  http_.run(conversations);

  EXPECT_EQ(second.bodies, "ok");
}

TEST_F(CurlHttpTest, ReportsConversationsThatWaitForOneAnother) {
  const bool never = false;
  Chain chain{{"http://127.0.0.1:1/"}, &never};
  const std::vector<HttpConversation*> conversations = {&chain};

  try {
    http_.run(conversations);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.id(), "bug");
  }
}

TEST_F(CurlHttpTest, HasNothingToDoForNoConversation) { EXPECT_NO_THROW(http_.run({})); }

}  // namespace
}  // namespace sparkrun::sys
