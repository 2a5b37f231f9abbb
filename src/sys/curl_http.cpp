// SPDX-License-Identifier: MIT
#include "sys/curl_http.hpp"

#include "base/error.hpp"
#include "base/text.hpp"

#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <map>

namespace sparkrun::sys {
namespace {

constexpr long connections_per_host_max = 8;
constexpr size_t in_flight_max = 128;
constexpr size_t header_bytes_max = size_t{256} << 10;
constexpr int poll_timeout_ms = 1000;

HttpFault fault_of(CURLcode code, bool is_in_redirect) {
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
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_INVALIDCERTSTATUS:
    case CURLE_USE_SSL_FAILED:
      return HttpFault::tls;
    case CURLE_TOO_MANY_REDIRECTS:
      return HttpFault::redirect;
    case CURLE_UNSUPPORTED_PROTOCOL:  // also: an answer without an HTTP header
    case CURLE_URL_MALFORMAT:
      return is_in_redirect ? HttpFault::redirect : HttpFault::protocol;
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
  return name == "localhost" || name == "[::1]" || name.starts_with("127.");
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
  Transfer(CURLM* multi, const CurlOptions& options, HttpConversation& conversation,
           HttpRequest request)
      : multi_(multi), conversation_(conversation), request_(std::move(request)) {
    if (easy_ == nullptr) throw Error{"bug", "libcurl gave no handle"};
    set_up(options);
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

  HttpResponse finish(CURLcode code) {
    long status = 0;
    curl_easy_getinfo(handle(), CURLINFO_RESPONSE_CODE, &status);
    response_.status = static_cast<int>(status);
    const bool is_in_redirect = status >= 300 && status < 400;
    response_.fault = is_too_large_ ? HttpFault::too_large : fault_of(code, is_in_redirect);
    if (response_.fault == HttpFault::none) return std::move(response_);
    // Half an answer is no answer: nobody shall act on it.
    return {.fault = response_.fault, .fault_text = describe(code)};
  }

 private:
  void set_up(const CurlOptions& options) {
    CURL* const easy = handle();
    const HttpLimits& limits = request_.limits;
    set(easy, CURLOPT_URL, request_.url.c_str());
    set(easy, CURLOPT_NOSIGNAL, 1L);
    set(easy, CURLOPT_ERRORBUFFER, error_text_.data());
    set(easy, CURLOPT_USERAGENT, options.user_agent.c_str());
    set(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    set(easy, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(limits.connect_timeout.count()));
    set(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(limits.total_timeout.count()));
    set(easy, CURLOPT_PIPEWAIT, 1L);  // rather share an HTTP/2 connection than open another
    // Asks for plain bytes, and unpacks what a server compresses all the same.
    set(easy, CURLOPT_ACCEPT_ENCODING, "identity");
    if (!options.ca_file.empty()) set(easy, CURLOPT_CAINFO, options.ca_file.c_str());
    if (!request_.unix_socket.empty()) {
      set(easy, CURLOPT_UNIX_SOCKET_PATH, request_.unix_socket.c_str());
    }
    if (!request_.unix_socket.empty() || is_loopback_url(request_.url)) {
      set(easy, CURLOPT_PROXY, "");
    }
    set(easy, CURLOPT_WRITEFUNCTION, &Transfer::on_body);
    set(easy, CURLOPT_WRITEDATA, this);
    set(easy, CURLOPT_HEADERFUNCTION, &Transfer::on_header);
    set(easy, CURLOPT_HEADERDATA, this);
    set_up_method();
    set_up_headers();
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
      return;  // a body may hold a secret, which a redirect would carry anywhere
    }
    // By default libcurl sends an Authorization header of ours to the first origin only (scheme,
    // host and port; since 7.83).
    set(easy, CURLOPT_FOLLOWLOCATION, request_.limits.redirects_max > 0 ? 1L : 0L);
    set(easy, CURLOPT_MAXREDIRS, static_cast<long>(request_.limits.redirects_max));
    set(easy, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
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
    std::string& body = transfer.response_.body;
    if (count > transfer.request_.limits.body_bytes_max - body.size()) {
      transfer.is_too_large_ = true;
      return CURL_WRITEFUNC_ERROR;
    }
    body.append(bytes, count);
    return count;
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
      transfer.begin_response();
    } else if (const size_t colon = line.find(':'); colon != std::string_view::npos) {
      transfer.response_.headers.emplace_back(line.substr(0, colon), trim(line.substr(colon + 1)));
    }
    return count;
  }

  // A redirect or an interim response came before: only the last one counts. After an https one no
  // redirect may lead to http, wherever the chain began.
  void begin_response() {
    response_.headers.clear();
    const char* scheme = nullptr;
    curl_easy_getinfo(handle(), CURLINFO_SCHEME, &scheme);
    if (scheme != nullptr && equal_ignoring_case(scheme, "https")) {
      curl_easy_setopt(handle(), CURLOPT_REDIR_PROTOCOLS_STR, "https");
    }
  }

  [[nodiscard]] std::string describe(CURLcode code) const {
    if (is_too_large_) {
      return fmt::format("the answer is larger than {}",
                         human_bytes(static_cast<long long>(request_.limits.body_bytes_max)));
    }
    std::string text = error_text_.front() != '\0' ? error_text_.data() : curl_easy_strerror(code);
    long os_error = 0;
    curl_easy_getinfo(handle(), CURLINFO_OS_ERRNO, &os_error);
    if (code == CURLE_COULDNT_CONNECT && os_error != 0) {
      text += fmt::format(" ({})", std::strerror(static_cast<int>(os_error)));
    }
    return printable(text);
  }

  CURLM* multi_;
  HttpConversation& conversation_;
  HttpRequest request_;
  HttpResponse response_;
  size_t header_bytes_ = 0;
  bool is_too_large_ = false;
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
    curl_multi_setopt(handle_, CURLMOPT_MAX_HOST_CONNECTIONS, connections_per_host_max);
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
  Run(CURLM* multi, Signals& signals, const CurlOptions& options)
      : multi_(multi), signals_(signals), options_(options) {}

  void drive(std::span<HttpConversation* const> conversations) {
    for (HttpConversation* const conversation : conversations) {
      take(*conversation, conversation->begin());
    }
    resume_waiting();
    while (!queue_.empty() || !transfers_.empty()) {
      start_queued();
      int running = 0;
      check(curl_multi_perform(multi_, &running));
      if (!finish_done()) wait();
    }
    if (!waiting_.empty()) throw Error{"bug", "HTTP conversations wait for one another"};
  }

 private:
  struct Queued {
    HttpConversation* conversation;
    HttpRequest request;
  };

  static void check(CURLMcode code) {
    if (code != CURLM_OK) throw Error{"bug", fmt::format("libcurl: {}", curl_multi_strerror(code))};
  }

  void take(HttpConversation& conversation, HttpStep step) {
    if (auto* const request = std::get_if<HttpRequest>(&step)) {
      queue_.push_back({&conversation, std::move(*request)});
    } else if (std::holds_alternative<HttpWait>(step)) {
      waiting_.push_back(&conversation);
    }
  }

  // Those that still wait are back in `waiting_` afterwards.
  void resume_waiting() {
    for (HttpConversation* const conversation : std::exchange(waiting_, {})) {
      take(*conversation, conversation->resume());
    }
  }

  void start_queued() {
    for (; !queue_.empty() && transfers_.size() < in_flight_max; queue_.pop_front()) {
      Queued& next = queue_.front();
      auto transfer =
          std::make_unique<Transfer>(multi_, options_, *next.conversation, std::move(next.request));
      CURL* const handle = transfer->handle();
      transfers_.emplace(handle, std::move(transfer));
    }
  }

  bool finish_done() {
    bool has_advanced = false;
    int left = 0;
    while (const CURLMsg* const message = curl_multi_info_read(multi_, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      const CURLcode code = message->data.result;
      const auto transfer = std::move(transfers_.extract(message->easy_handle).mapped());
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
    check(
        curl_multi_poll(multi_, &interruption, is_interruptible ? 1 : 0, poll_timeout_ms, nullptr));
    if (interruption.revents != 0) signals_.throw_if_any();
  }

  CURLM* multi_;
  Signals& signals_;
  const CurlOptions& options_;
  std::deque<Queued> queue_;
  std::vector<HttpConversation*> waiting_;
  std::map<CURL*, std::unique_ptr<Transfer>> transfers_;
};

CurlHttp::CurlHttp(Signals& signals, CurlOptions options)
    : signals_(signals), options_(std::move(options)) {}

CurlHttp::~CurlHttp() = default;

void CurlHttp::run(std::span<HttpConversation* const> conversations) {
  if (!multi_) multi_ = std::make_unique<Multi>();
  Run{multi_->handle(), signals_, options_}.drive(conversations);
}

}  // namespace sparkrun::sys
