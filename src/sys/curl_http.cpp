// SPDX-License-Identifier: MIT
#include "sys/curl_http.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "sys/address.hpp"
#include "sys/files.hpp"

#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>
#include <map>
#include <random>

namespace sparkrun::sys {
namespace {

// Of one origin: as many as HTTP/1.1 gets connections, and HTTP/2 streams of one connection.
constexpr size_t connections_per_origin_max = 8;
constexpr size_t streams_per_origin_max = 100;
constexpr size_t in_flight_max = 128;
constexpr size_t header_bytes_max = size_t{256} << 10;
constexpr int poll_timeout_ms = 1000;
// A CA that every Linux has had since 2015 (ISRG Root X1), under the name that a hashed folder
// gives it: `openssl x509 -hash`.
constexpr std::string_view hashed_ca = "4042bcee.0";
constexpr long sink_buffer_bytes = 256L << 10;

HttpFault fault_of(CURLcode code) {
  switch (code) {
    case CURLE_OK:
      return HttpFault::none;
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
      return HttpFault::resolve;
    case CURLE_COULDNT_CONNECT:
      return HttpFault::connect;
    case CURLE_OPERATION_TIMEDOUT:
      return HttpFault::timeout;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_INVALIDCERTSTATUS:
      return HttpFault::untrusted;
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_USE_SSL_FAILED:
      return HttpFault::tls;
    default:
      return HttpFault::protocol;
  }
}

bool is_loopback_url(const std::string& url) {
  const std::unique_ptr<CURLU, decltype(&curl_url_cleanup)> parsed{curl_url(), curl_url_cleanup};
  char* host = nullptr;
  if (curl_url_set(parsed.get(), CURLUPART_URL, url.c_str(), 0) != CURLUE_OK ||
      curl_url_get(parsed.get(), CURLUPART_HOST, &host, 0) != CURLUE_OK) {
    return false;
  }
  const std::string name{host};
  curl_free(host);
  return name == "localhost" || name == "[::1]" || (is_address(name) && name.starts_with("127."));
}

// What requests to one origin share: everything up to the path.
std::string_view origin_part(std::string_view url) {
  const size_t scheme = url.find("://");
  return scheme == std::string_view::npos ? url
                                          : url.substr(0, url.find_first_of("/?#", scheme + 3));
}

std::string seconds_text(std::chrono::milliseconds time) {
  return fmt::format("{:.3g} s", static_cast<double>(time.count()) / 1000);
}

template <typename Value>
void set(CURL* easy, CURLoption option, Value value) {
  const CURLcode code = curl_easy_setopt(easy, option, value);
  if (code != CURLE_OK) {
    throw Error{"bug", fmt::format("libcurl refuses option {}: {}", static_cast<int>(option),
                                   curl_easy_strerror(code))};
  }
}

// One request under way. libcurl holds pointers into it, so it never moves.
class Transfer {
 public:
  Transfer(CURLM* multi, const std::string& user_agent, HttpConversation& conversation,
           HttpRequest request)
      : multi_(multi), conversation_(conversation), request_(std::move(request)) {
    if (easy_ == nullptr) throw Error{"bug", "libcurl gave no handle"};
    set_up(user_agent);
    if (curl_multi_add_handle(multi_, easy_.get()) != CURLM_OK) {
      throw Error{"bug", "libcurl takes no further request"};
    }
  }
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;
  ~Transfer() { curl_multi_remove_handle(multi_, easy_.get()); }

  [[nodiscard]] CURL* handle() const { return easy_.get(); }
  [[nodiscard]] HttpConversation& conversation() const { return conversation_; }
  [[nodiscard]] bool is_interruptible() const { return request_.is_interruptible; }

  [[nodiscard]] std::string_view origin() const { return origin_part(request_.url); }
  // Whether many requests can share the connection.
  [[nodiscard]] bool is_multiplexed() const {
    return number(CURLINFO_HTTP_VERSION) >= CURL_HTTP_VERSION_2_0;
  }

  HttpResponse finish(CURLcode code) {
    response_.status = static_cast<int>(number(CURLINFO_RESPONSE_CODE));
    response_.elapsed = time(CURLINFO_TOTAL_TIME_T);
    if (!is_proxied()) response_.peer_address = text(CURLINFO_PRIMARY_IP);
    const HttpFault fault = is_too_large_         ? HttpFault::too_large
                            : is_private_address_ ? HttpFault::private_address
                            : has_sink_stopped_   ? HttpFault::stopped
                                                  : fault_of(code);
    if (fault == HttpFault::none) return std::move(response_);
    // Half an answer is no answer: nobody shall act on it.
    return {.fault = fault,
            .fault_text = describe(code),
            .was_sent = number(CURLINFO_REQUEST_SIZE) > 0,
            .speaks_http = response_.speaks_http,
            .peer_address = response_.peer_address,
            .elapsed = response_.elapsed};
  }

 private:
  [[nodiscard]] long number(CURLINFO info) const {
    long value = 0;
    curl_easy_getinfo(handle(), info, &value);
    return value;
  }
  [[nodiscard]] std::chrono::milliseconds time(CURLINFO info) const {
    curl_off_t microseconds = 0;
    curl_easy_getinfo(handle(), info, &microseconds);
    return std::chrono::milliseconds{microseconds / 1000};
  }
  [[nodiscard]] std::string text(CURLINFO info) const {
    const char* value = nullptr;
    curl_easy_getinfo(handle(), info, &value);
    return value != nullptr ? value : "";
  }
  // Whether a proxy may stand between: then the address of the peer is the proxy's. libcurl does
  // not say it, so hosts that are exempt count as well.
  [[nodiscard]] bool is_proxied() const {
    if (!request_.unix_socket.empty() || is_loopback_url(request_.url)) return false;
    if (!request_.proxy.empty()) return true;
    const bool is_https = request_.url.starts_with("https:");
    const auto is_set = [](const char* name) {
      const char* const value = std::getenv(name);
      return value != nullptr && *value != '\0';
    };
    return is_set("all_proxy") || is_set("ALL_PROXY") ||
           (is_https ? is_set("https_proxy") || is_set("HTTPS_PROXY") : is_set("http_proxy"));
  }

  void set_up(const std::string& user_agent) {
    CURL* const easy = handle();
    const HttpLimits& limits = request_.limits;
    set(easy, CURLOPT_URL, request_.url.c_str());
    set(easy, CURLOPT_NOSIGNAL, 1L);
    set(easy, CURLOPT_ERRORBUFFER, error_text_.data());
    set(easy, CURLOPT_USERAGENT, user_agent.c_str());
    set(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    set(easy, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(limits.connect_timeout.count()));
    set(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(limits.total_timeout.count()));
    // Plain http shares no connection, so there is none to wait for.
    if (request_.url.starts_with("https:")) set(easy, CURLOPT_PIPEWAIT, 1L);
    set(easy, CURLOPT_QUICK_EXIT, 1L);  // not even for a name server that does not answer
    // Asks for plain bytes, and unpacks what a server compresses all the same; but not what a sink
    // takes, whose digest is that of the bytes that are stored.
    set(easy, CURLOPT_ACCEPT_ENCODING, "identity");
    if (request_.sink != nullptr) {
      set(easy, CURLOPT_HTTP_CONTENT_DECODING, 0L);
      set(easy, CURLOPT_BUFFERSIZE, sink_buffer_bytes);
    }
    if (limits.silence_timeout.count() > 0) {
      set(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
      set(easy, CURLOPT_LOW_SPEED_TIME,
          static_cast<long>(
              std::chrono::ceil<std::chrono::seconds>(limits.silence_timeout).count()));
    }
    if (request_.is_public_only) {
      set(easy, CURLOPT_PREREQFUNCTION, &Transfer::on_connected);
      set(easy, CURLOPT_PREREQDATA, this);
    }
    set_up_tls();
    set_up_way();
    set(easy, CURLOPT_WRITEFUNCTION, &Transfer::on_body);
    set(easy, CURLOPT_WRITEDATA, this);
    set(easy, CURLOPT_HEADERFUNCTION, &Transfer::on_header);
    set(easy, CURLOPT_HEADERDATA, this);
    set_up_method();
    set_up_headers();
  }

  // What the request names comes to the system's CAs, which OpenSSL looks up by the hash of their
  // name in a folder. Where that is, the bundle with all of them is not read: that takes 25 ms of
  // every connection.
  void set_up_tls() {
    CURL* const easy = handle();
    const HttpTls& tls = request_.tls;
    const std::string ca_folder = text(CURLINFO_CAPATH);
    const bool has_folder = path_exists(std::filesystem::path{ca_folder} / hashed_ca);
    if (has_folder && !tls.reads_bundle) {
      set(easy, CURLOPT_CAINFO, static_cast<const char*>(nullptr));
    } else if (!tls.ca_pem.empty()) {
      // Named CAs take the place of the bundle, so it has to be among them.
      ca_pem_ = read_file(text(CURLINFO_CAINFO)).value_or("") + std::string{tls.ca_pem};
    }
    if (!tls.ca_pem.empty()) {
      const std::string_view pem = ca_pem_.empty() ? tls.ca_pem : std::string_view{ca_pem_};
      // libcurl only reads it.
      curl_blob blob{
          .data = const_cast<char*>(pem.data()), .len = pem.size(), .flags = CURL_BLOB_NOCOPY};
      set(easy, CURLOPT_CAINFO_BLOB, &blob);
    }
    if (!tls.client_certificate.empty()) {
      set(easy, CURLOPT_SSLCERT, tls.client_certificate.c_str());
      set(easy, CURLOPT_SSLKEY, tls.client_key.c_str());
      set(easy, CURLOPT_KEYPASSWD, "");  // a key with a password is refused, not asked for
    }
  }

  void set_up_way() {
    CURL* const easy = handle();
    if (!request_.unix_socket.empty()) {
      set(easy, CURLOPT_UNIX_SOCKET_PATH, request_.unix_socket.c_str());
    }
    if (!request_.unix_socket.empty() || is_loopback_url(request_.url)) {
      set(easy, CURLOPT_PROXY, "");
    } else if (!request_.proxy.empty()) {
      set(easy, CURLOPT_PROXY, request_.proxy.c_str());
      set(easy, CURLOPT_NOPROXY, request_.no_proxy.c_str());
    }
  }

  void set_up_method() {
    CURL* const easy = handle();
    const bool is_head = request_.method == "HEAD";
    if (is_head) {
      set(easy, CURLOPT_NOBODY, 1L);
    } else if (request_.method != "GET") {
      set(easy, CURLOPT_CUSTOMREQUEST, request_.method.c_str());
      set(easy, CURLOPT_POSTFIELDS, request_.body.data());
      set(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request_.body.size()));
    }
  }

  void set_up_headers() {
    add_header("Expect:");  // no pause before a body
    for (const auto& [name, value] : request_.headers) {
      const std::string line = name + ": " + value;
      constexpr std::string_view line_ends{"\r\n\0", 3};
      if (line.find_first_of(line_ends) != std::string::npos) {
        throw Error{"bug",
                    fmt::format("the value of a `{}` header has a line end", printable(name))};
      }
      add_header(line);
    }
    set(handle(), CURLOPT_HTTPHEADER, headers_.get());
  }

  void add_header(const std::string& line) {
    curl_slist* const longer = curl_slist_append(headers_.get(), line.c_str());
    if (longer == nullptr) throw std::bad_alloc{};
    static_cast<void>(headers_.release());  // it is part of `longer`
    headers_.reset(longer);
  }

  static size_t on_body(const char* bytes, size_t, size_t count, void* self) {
    auto& transfer = *static_cast<Transfer*>(self);
    if (transfer.is_for_sink()) return transfer.give_to_sink({bytes, count});
    std::string& body = transfer.response_.body;
    if (count > transfer.request_.limits.body_bytes_max - body.size()) {
      transfer.is_too_large_ = true;
      return CURL_WRITEFUNC_ERROR;
    }
    body.append(bytes, count);
    return count;
  }

  // Other answers (a redirect, an error and its words) have ordinary bodies.
  [[nodiscard]] bool is_for_sink() const {
    if (request_.sink == nullptr) return false;
    const long status = number(CURLINFO_RESPONSE_CODE);
    return status == 200 || status == 206;
  }

  size_t give_to_sink(std::string_view bytes) {
    HttpSink& sink = *request_.sink;
    if (!has_begun_) {
      has_begun_ = true;
      if (number(CURLINFO_RESPONSE_CODE) == 200) {
        sink.restart();
      } else if (response_.range_start() != sink.offset()) {
        is_misplaced_ = true;
        return CURL_WRITEFUNC_ERROR;
      }
    }
    has_sink_stopped_ = !sink.take(bytes);
    return has_sink_stopped_ ? size_t{CURL_WRITEFUNC_ERROR} : bytes.size();
  }

  static size_t on_header(const char* bytes, size_t, size_t count, void* self) {
    auto& transfer = *static_cast<Transfer*>(self);
    transfer.header_bytes_ += count;
    if (transfer.header_bytes_ > header_bytes_max) {
      transfer.is_too_large_ = true;
      return 0;
    }
    const std::string_view line = trim({bytes, count});
    if (line.starts_with("HTTP/")) {
      transfer.response_.headers.clear();  // an interim response came before
      transfer.response_.speaks_http = true;
    } else if (const size_t colon = line.find(':'); colon != std::string_view::npos) {
      transfer.response_.headers.emplace_back(line.substr(0, colon), trim(line.substr(colon + 1)));
    }
    return count;
  }

  // Called with every connection, old or new, before the request is sent.
  static int on_connected(void* self, char* peer, char*, int, int) {
    auto& transfer = *static_cast<Transfer*>(self);
    transfer.is_private_address_ = !transfer.is_proxied() && !is_public_address(peer);
    return transfer.is_private_address_ ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK;
  }

  [[nodiscard]] std::string describe(CURLcode code) const {
    if (is_too_large_) {
      return fmt::format("the answer is larger than {}",
                         human_bytes(static_cast<long long>(request_.limits.body_bytes_max)));
    }
    if (has_sink_stopped_) return "nobody takes the rest of it";
    if (is_misplaced_) return "it sends another part than it was asked for";
    if (is_private_address_) return "its address is " + this->text(CURLINFO_PRIMARY_IP);
    if (code == CURLE_OPERATION_TIMEDOUT) return describe_timeout();
    // libcurl quotes the whole URL, which may hold a password.
    if (std::string_view{error_text_.data()}.find(" proxy ") != std::string_view::npos &&
        code != CURLE_COULDNT_CONNECT) {
      return fmt::format("the proxy cannot be used ({})", curl_easy_strerror(code));
    }
    std::string text = error_text_.front() != '\0' ? error_text_.data() : curl_easy_strerror(code);
    const long os_error = number(CURLINFO_OS_ERRNO);
    if (code == CURLE_COULDNT_CONNECT && os_error != 0) {
      text += fmt::format(" ({})", std::strerror(static_cast<int>(os_error)));
    }
    return printable(text);
  }

  [[nodiscard]] std::string describe_timeout() const {
    const HttpLimits& limits = request_.limits;
    const auto elapsed = time(CURLINFO_TOTAL_TIME_T);
    if (limits.total_timeout.count() > 0 && elapsed >= limits.total_timeout) {
      return fmt::format("not complete after {}", seconds_text(limits.total_timeout));
    }
    // Set once the connection stands, TLS included.
    if (time(CURLINFO_PRETRANSFER_TIME_T).count() == 0 && number(CURLINFO_REQUEST_SIZE) == 0) {
      return fmt::format("no connection after {}", seconds_text(limits.connect_timeout));
    }
    return fmt::format("silent for {}", seconds_text(limits.silence_timeout));
  }

  CURLM* multi_;
  HttpConversation& conversation_;
  HttpRequest request_;
  HttpResponse response_;
  std::string ca_pem_;  // with the system's bundle; empty: what the request names
  size_t header_bytes_ = 0;
  bool is_too_large_ = false;
  bool is_private_address_ = false;
  bool has_begun_ = false;  // to give the body to the sink
  bool is_misplaced_ = false;
  bool has_sink_stopped_ = false;
  std::array<char, CURL_ERROR_SIZE> error_text_{};
  std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)> headers_{nullptr,
                                                                       curl_slist_free_all};
  std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> easy_{curl_easy_init(), curl_easy_cleanup};
};

}  // namespace

// The connections, and libcurl's own global state.
class CurlHttp::Multi {
 public:
  Multi() {
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
      throw Error{"bug", "libcurl cannot be initialised"};
    }
    handle_ = curl_multi_init();
    if (handle_ == nullptr) throw Error{"bug", "libcurl gave no multi handle"};
    curl_multi_setopt(handle_, CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX);
    curl_multi_setopt(handle_, CURLMOPT_MAX_HOST_CONNECTIONS,
                      static_cast<long>(connections_per_origin_max));
  }
  Multi(const Multi&) = delete;
  Multi& operator=(const Multi&) = delete;
  ~Multi() {
    curl_multi_cleanup(handle_);
    curl_global_cleanup();
  }
  [[nodiscard]] CURLM* handle() const { return handle_; }

 private:
  CURLM* handle_ = nullptr;
};

// One call of `run`; its transfers end with it, also when an exception leaves.
class CurlHttp::Run {
 public:
  Run(CURLM* multi, Signals& signals, const std::string& user_agent)
      : multi_(multi), signals_(signals), user_agent_(user_agent) {}

  void drive(std::span<HttpConversation* const> conversations) {
    for (HttpConversation* const conversation : conversations) {
      take(*conversation, conversation->begin());
    }
    resume_waiting();
    while (true) {
      start_queued();
      if (transfers_.empty() && paused_.empty()) break;
      int running = 0;
      check(curl_multi_perform(multi_, &running));
      if (!finish_done() && !resume_paused()) wait();
    }
    if (!waiting_.empty()) throw Error{"bug", "HTTP conversations wait for one another"};
  }

 private:
  using Steady = std::chrono::steady_clock;
  struct Queued {
    HttpConversation* conversation;
    HttpRequest request;
  };
  // Requests to one origin.
  struct Lane {
    std::deque<Queued> queue;
    size_t in_flight = 0;
    bool is_multiplexed = false;
    [[nodiscard]] bool has_room() const {
      return in_flight < (is_multiplexed ? streams_per_origin_max : connections_per_origin_max);
    }
  };

  static void check(CURLMcode code) {
    if (code != CURLM_OK) throw Error{"bug", fmt::format("libcurl: {}", curl_multi_strerror(code))};
  }

  void take(HttpConversation& conversation, HttpStep step) {
    if (auto* const request = std::get_if<HttpRequest>(&step)) {
      lanes_[std::string{origin_part(request->url)}].queue.push_back(
          {&conversation, std::move(*request)});
    } else if (std::holds_alternative<HttpWait>(step)) {
      waiting_.push_back(&conversation);
    } else if (const auto* const pause = std::get_if<HttpPause>(&step)) {
      std::uniform_int_distribution<long> length{pause->shortest.count(), pause->longest.count()};
      paused_.emplace(Steady::now() + std::chrono::milliseconds{length(random_)}, &conversation);
    }
  }

  // Those that still wait are back in `waiting_` afterwards.
  void resume_waiting() {
    for (HttpConversation* const conversation : std::exchange(waiting_, {})) {
      take(*conversation, conversation->resume());
    }
  }

  bool resume_paused() {
    bool has_advanced = false;
    while (!paused_.empty() && paused_.begin()->first <= Steady::now()) {
      HttpConversation* const conversation = paused_.extract(paused_.begin()).mapped();
      take(*conversation, conversation->resume());
      has_advanced = true;
    }
    if (has_advanced) resume_waiting();
    return has_advanced;
  }

  void start_queued() {
    for (auto& [origin, lane] : lanes_) {
      while (!lane.queue.empty() && lane.has_room() && transfers_.size() < in_flight_max) {
        Queued next = std::move(lane.queue.front());
        lane.queue.pop_front();
        auto transfer = std::make_unique<Transfer>(multi_, user_agent_, *next.conversation,
                                                   std::move(next.request));
        CURL* const handle = transfer->handle();
        transfers_.emplace(handle, std::move(transfer));
        ++lane.in_flight;
      }
    }
  }

  bool finish_done() {
    bool has_advanced = false;
    int left = 0;
    while (const CURLMsg* const message = curl_multi_info_read(multi_, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      const CURLcode code = message->data.result;
      const auto transfer = std::move(transfers_.extract(message->easy_handle).mapped());
      Lane& lane = lanes_.at(std::string{transfer->origin()});
      --lane.in_flight;
      if (code == CURLE_OK) lane.is_multiplexed = transfer->is_multiplexed();
      HttpConversation& conversation = transfer->conversation();
      take(conversation, conversation.on_response(transfer->finish(code)));
      resume_waiting();
      has_advanced = true;
    }
    return has_advanced;
  }

  void wait() {
    curl_waitfd interruption{.fd = signals_.fd(), .events = CURL_WAIT_POLLIN, .revents = 0};
    const bool is_interruptible = std::ranges::all_of(
        transfers_, [](const auto& entry) { return entry.second->is_interruptible(); });
    check(curl_multi_poll(multi_, &interruption, is_interruptible ? 1 : 0, patience_ms(), nullptr));
    if (interruption.revents != 0) signals_.throw_if_any();
  }

  [[nodiscard]] int patience_ms() const {
    if (paused_.empty()) return poll_timeout_ms;
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(paused_.begin()->first - Steady::now());
    return static_cast<int>(std::clamp<long>(left.count(), 0, poll_timeout_ms));
  }

  CURLM* multi_;
  Signals& signals_;
  const std::string& user_agent_;
  std::minstd_rand random_{std::random_device{}()};
  std::map<std::string, Lane> lanes_;
  std::vector<HttpConversation*> waiting_;
  std::multimap<Steady::time_point, HttpConversation*> paused_;
  std::map<CURL*, std::unique_ptr<Transfer>> transfers_;
};

CurlHttp::CurlHttp(Signals& signals, std::string user_agent)
    : signals_(signals), user_agent_(std::move(user_agent)) {}

CurlHttp::~CurlHttp() = default;

void CurlHttp::run(std::span<HttpConversation* const> conversations) {
  if (!multi_) multi_ = std::make_unique<Multi>();
  Run{multi_->handle(), signals_, user_agent_}.drive(conversations);
}

}  // namespace sparkrun::sys
