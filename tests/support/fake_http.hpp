// SPDX-License-Identifier: MIT
#pragma once

#include "base/error.hpp"
#include "sys/http.hpp"

#include <algorithm>
#include <chrono>
#include <deque>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace sparkrun::test {

// Answers by rules and records what was asked. Of the rules that fit a request the one with the
// most conditions answers, of several such the last. What no rule fits cannot be reached.
class FakeHttp final : public sys::Http {
 public:
  using Headers = std::vector<std::pair<std::string, std::string>>;

  class Rule {
   public:
    explicit Rule(std::string url) : url_(std::move(url)) {}
    Rule& with(const std::string& name, const std::string& value) {
      conditions_.emplace_back(name, value);
      return *this;
    }
    Rule& with_method(const std::string& method) {
      method_ = method;
      return *this;
    }
    // Several replies are given in turn, the last one for ever.
    Rule& reply(int status, const std::string& body = "", Headers headers = {}) {
      replies_.push_back({.status = status, .headers = std::move(headers), .body = body});
      return *this;
    }
    Rule& fail(sys::HttpFault fault, const std::string& text = "made up") {
      replies_.push_back({.fault = fault, .fault_text = text});
      return *this;
    }
    // So much comes, and then the fault.
    Rule& cut_off(int status, const std::string& body, Headers headers = {}) {
      replies_.push_back({.status = status,
                          .headers = std::move(headers),
                          .body = body,
                          .fault = sys::HttpFault::protocol,
                          .fault_text = "cut off"});
      return *this;
    }
    // The last reply comes from that address, after that time.
    Rule& from(const std::string& address) {
      replies_.back().peer_address = address;
      return *this;
    }
    // The server was reached, though it gave no answer.
    Rule& was_sent() {
      replies_.back().was_sent = true;
      return *this;
    }
    Rule& after(std::chrono::milliseconds time) {
      replies_.back().elapsed = time;
      return *this;
    }

   private:
    friend class FakeHttp;
    [[nodiscard]] bool fits(const sys::HttpRequest& request) const {
      return request.url == url_ && (method_.empty() || request.method == method_) &&
             std::ranges::all_of(conditions_, [&](const auto& condition) {
               return std::ranges::find(request.headers, condition) != request.headers.end();
             });
    }
    [[nodiscard]] size_t weight() const { return conditions_.size() + (method_.empty() ? 0 : 1); }
    sys::HttpResponse next() {
      const sys::HttpResponse response = replies_.at(0);
      if (replies_.size() > 1) replies_.pop_front();
      return response;
    }

    std::string url_;
    std::string method_;
    Headers conditions_;
    std::deque<sys::HttpResponse> replies_;
  };

  Rule& on(const std::string& url) { return rules_.emplace_back(url); }

  // Every pause that was asked for; none of them takes any time.
  [[nodiscard]] const std::vector<sys::HttpPause>& pauses() const { return pauses_; }

  [[nodiscard]] const std::vector<sys::HttpRequest>& requests() const { return requests_; }
  [[nodiscard]] int count(const std::string& url) const {
    return static_cast<int>(std::ranges::count(requests_, url, &sys::HttpRequest::url));
  }
  // All URLs that were asked, in order.
  [[nodiscard]] std::vector<std::string> urls() const {
    std::vector<std::string> all;
    for (const sys::HttpRequest& request : requests_) all.push_back(request.url);
    return all;
  }

  // First come, first served, as if all were under way at once.
  void run(std::span<sys::HttpConversation* const> conversations) override {
    for (sys::HttpConversation* const conversation : conversations) {
      take(conversation, conversation->begin());
    }
    resume_waiting();
    while (!queue_.empty()) {
      const auto [conversation, request] = std::move(queue_.front());
      queue_.pop_front();
      take(conversation, conversation->on_response(answer(request)));
      resume_waiting();
    }
    if (!waiting_.empty()) throw Error{"bug", "conversations wait for one another"};
  }

 private:
  void take(sys::HttpConversation* conversation, sys::HttpStep step) {
    if (auto* const request = std::get_if<sys::HttpRequest>(&step)) {
      queue_.emplace_back(conversation, std::move(*request));
    } else if (std::holds_alternative<sys::HttpWait>(step)) {
      waiting_.push_back(conversation);
    } else if (const auto* const pause = std::get_if<sys::HttpPause>(&step)) {
      pauses_.push_back(*pause);
      take(conversation, conversation->resume());
    }
  }

  void resume_waiting() {
    for (sys::HttpConversation* const conversation : std::exchange(waiting_, {})) {
      take(conversation, conversation->resume());
    }
  }

  sys::HttpResponse answer(const sys::HttpRequest& request) {
    requests_.push_back(request);
    Rule* best = nullptr;
    for (Rule& rule : rules_) {
      if (rule.fits(request) && (best == nullptr || rule.weight() >= best->weight())) best = &rule;
    }
    if (best != nullptr) return deliver(best->next(), request.sink);
    return {.fault = sys::HttpFault::connect,
            .fault_text = "no rule for " + request.method + " " + request.url};
  }

  // As CurlHttp does it, a few bytes at a time; what a fault cuts off has come so far.
  static sys::HttpResponse deliver(sys::HttpResponse response, sys::HttpSink* sink) {
    constexpr size_t piece = 7;
    const bool is_for_sink = response.status == 200 || response.status == 206;
    if (sink != nullptr && is_for_sink && !response.body.empty()) {
      const std::string body = std::exchange(response.body, "");
      if (response.status == 200)
        sink->restart();
      else if (response.range_start() != sink->offset())
        return {.fault = sys::HttpFault::protocol, .fault_text = "another part"};
      for (size_t at = 0; at < body.size(); at += piece) {
        if (!sink->take(std::string_view{body}.substr(at, piece)))
          return {.fault = sys::HttpFault::stopped};
      }
    }
    if (response.fault != sys::HttpFault::none) {
      response.status = 0;
      response.body.clear();
    }
    return response;
  }

  std::deque<Rule> rules_;
  std::vector<sys::HttpRequest> requests_;
  std::deque<std::pair<sys::HttpConversation*, sys::HttpRequest>> queue_;
  std::vector<sys::HttpConversation*> waiting_;
  std::vector<sys::HttpPause> pauses_;
};

}  // namespace sparkrun::test
