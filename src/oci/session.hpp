// SPDX-License-Identifier: MIT
#pragma once

#include "base/error.hpp"
#include "oci/answer.hpp"
#include "oci/certificates.hpp"
#include "oci/credentials.hpp"
#include "oci/endpoint.hpp"
#include "oci/exchange.hpp"
#include "oci/options.hpp"
#include "oci/reference.hpp"
#include "oci/token.hpp"
#include "sys/http.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sparkrun::oci {

// What the conversations about one repository at one endpoint have learnt and share: how to reach
// it, and the token. The first one that needs it finds out, the others wait for that.
struct Access {
  enum class Stage { unknown, being_asked, known };
  // A slow answer to one question says little of the others; a second one does.
  static constexpr int timeouts_max = 2;
  // `refused`: the stored login was turned down, so we go on as anybody.
  enum class Login { none, used, refused };

  Endpoint endpoint;
  Stage stage = Stage::unknown;
  std::string origin;
  std::string authorization;  // header value; empty: none is needed
  bool is_proven = false;     // the registry has accepted it
  std::optional<Realm> realm;
  Login login = Login::none;
  std::string login_source;      // whose login was used or refused
  std::optional<Error> failure;  // it gives us no token, or no answer
  int timeouts = 0;
};

// Whether a host can be reached at all. The first conversation finds out.
struct Host {
  Access::Stage stage = Access::Stage::unknown;
  std::optional<Error> failure;
};

// Everything that all conversations of a process share.
struct Client {
  Credentials credentials;
  Certificates certificates;
  RegistryOptions options;
  std::map<std::pair<std::string, std::string>, Access> accesses;  // by origin and repository
  std::map<std::string, Host> hosts;                               // by origin
  // Hashes of logins that were turned down: registries lock out who insists.
  std::set<std::string> refused_logins;

  // Those of the repository's endpoints, the best first; at least one. They stay where they are.
  std::vector<Access*> accesses_of(const Reference& reference);
};

// Everything that questions to one repository have in common: which scheme and mirror, logging in
// (no ping: the first question is answered 401), tokens that expire, faults. A subclass has the
// questions. Without I/O (sys::Http does that). Sources: distribution-spec, "Pulling manifests";
// RFC 6750; RFC 7617.
class RepositoryConversation : public sys::HttpConversation {
 public:
  // Both outlive the conversation.
  RepositoryConversation(const Reference& reference, Client& client);

  sys::HttpStep begin() final;
  sys::HttpStep on_response(const sys::HttpResponse& response) final;
  sys::HttpStep resume() final;

  [[nodiscard]] const std::optional<Error>& error() const { return error_; }
  // How many were sent, those for a token included.
  [[nodiscard]] int requests() const { return exchange_.requests(); }

 protected:
  struct Question {
    std::string path;    // below `/v2/REPOSITORY/`, or an absolute URL of the same origin
    std::string accept;  // empty: anything
    std::string what;    // for messages
    std::string method = "GET";
    // An answer that is no success, or none at all, is an answer as well.
    bool is_optional = false;
    // Takes the body of the answer; outlives the question.
    sys::HttpSink* sink = nullptr;
  };
  // Asked once for each endpoint: what was learnt from the one before does not count.
  [[nodiscard]] virtual Question first_question() = 0;
  // The next question after an answer with status 200, or nothing at the end. May throw Error.
  virtual std::optional<Question> on_answer(const sys::HttpResponse& response) = 0;
  // The conversation has ended with this error.
  virtual void on_failure(const Error& /*error*/) {}

  [[nodiscard]] const Reference& reference() const { return reference_; }
  [[nodiscard]] const Access& access() const { return *accesses_[place_]; }
  // Where the last answer came from.
  [[nodiscard]] const std::string& url() const { return exchange_.url(); }
  // Why endpoints before the one that answered did not.
  [[nodiscard]] const std::vector<std::string>& detours() const { return detours_; }

 private:
  template <typename Step>
  sys::HttpStep guarded(Step&& step);
  sys::HttpStep fail(const Error& error);
  sys::HttpStep go_on_without(const Error& error);
  sys::HttpStep begin_at_endpoint();
  sys::HttpStep enter();
  sys::HttpStep ask();
  sys::HttpStep react(const sys::HttpResponse& response);
  [[nodiscard]] bool leads_to_next_origin(const sys::HttpResponse& response) const;
  sys::HttpStep try_next_origin(const sys::HttpResponse& response);
  sys::HttpStep on_unauthorized(const sys::HttpResponse& response);
  sys::HttpStep log_in(const sys::HttpResponse& response);
  sys::HttpStep renew();
  [[nodiscard]] bool may_renew() const;
  sys::HttpStep begin_token();
  sys::HttpStep send_for_token();
  sys::HttpStep on_token(const sys::HttpResponse& response);
  sys::HttpStep go_on_with(std::string authorization, Access::Login login);
  void look_for_login();
  [[nodiscard]] Host& shared_host();
  [[nodiscard]] std::string login_key() const;
  void note_reached(const sys::HttpResponse& response);
  void become_scout();
  void settle();
  [[nodiscard]] Access& access() { return *accesses_[place_]; }
  [[nodiscard]] const std::string& host() const {
    return accesses_.empty() ? reference_.registry() : access().endpoint.host;
  }
  [[nodiscard]] Error refusal(const sys::HttpResponse& response) const;
  [[nodiscard]] Error named(const Error& error) const;
  [[nodiscard]] Error scrubbed(const Error& error) const;
  [[nodiscard]] Asked asked() const { return {host(), question_.what}; }

  const Reference& reference_;
  Client& client_;
  std::vector<Access*> accesses_;
  size_t place_ = 0;  // of the endpoint that is being asked
  std::vector<std::string> detours_;

  Exchange exchange_;
  Question question_;
  std::string sent_authorization_;    // with it
  bool is_scout_ = false;             // finding out for all of the repository
  bool is_host_scout_ = false;        // finding out for all of the host
  bool is_unreached_ = false;         // the last answer was none, for want of a connection
  bool has_renewed_ = false;          // the token, since it was last accepted
  bool is_pausing_ = false;           // before the same request is sent again
  std::vector<std::string> origins_;  // of a scout: those left to try, the current one first
  bool is_http_doubted_ = false;      // what came was no HTTP: perhaps TLS is wanted
  std::optional<sys::HttpResponse> tls_fault_;

  std::optional<TokenFetch> token_fetch_;  // while a token is being asked for
  Login login_;

  std::optional<Error> error_;
};

}  // namespace sparkrun::oci
