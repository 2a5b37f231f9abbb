// SPDX-License-Identifier: MIT
#pragma once

#include "base/error.hpp"
#include "oci/answer.hpp"
#include "oci/challenge.hpp"
#include "oci/credentials.hpp"
#include "oci/reference.hpp"
#include "sys/http.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sparkrun::oci {

// Registries in the lists are `host` (any port) or `host:port`.
struct RegistryOptions {
  std::vector<std::string> plain_http;  // asked over http
  std::vector<std::string> tls;         // asked over https even on this machine
  bool has_ca = false;  // the user named a CA: then https comes first on this machine too
  bool offline = false;
  std::chrono::milliseconds connect_timeout{10'000};
  std::chrono::milliseconds total_timeout{30'000};
};

// The origins to try for a registry, best first: https, except that a host of this machine that no
// list names has both. docker.io is served by registry-1.docker.io.
std::vector<std::string> registry_origins(std::string_view registry,
                                          const RegistryOptions& options);

// What the conversations about one repository have learnt and share: how to reach it, and the
// token. The first one that needs it finds out, the others wait for that.
struct Access {
  enum class Stage { unknown, being_asked, known };
  // `refused`: the stored login was turned down, so we go on as anybody.
  enum class Login { none, used, refused };

  Stage stage = Stage::unknown;
  std::string origin;
  std::string authorization;  // header value; empty: none is needed
  Login login = Login::none;
  std::optional<Error> failure;  // it cannot be reached, or gives us no token
};

// Everything that questions to one repository have in common: which scheme, logging in (no ping:
// the first question is answered 401), faults. A subclass has the questions. Without I/O (sys::Http
// does that). Sources: distribution-spec, "Pulling manifests"; distribution,
// docs/spec/auth/token.md and oauth.md; RFC 6750; RFC 7617.
class RepositoryConversation : public sys::HttpConversation {
 public:
  // All of the arguments outlive the conversation.
  RepositoryConversation(const Reference& reference, Access& access, const Credentials& credentials,
                         const RegistryOptions& options);

  sys::HttpStep begin() final;
  sys::HttpStep on_response(const sys::HttpResponse& response) final;
  sys::HttpStep resume() final { return enter(); }

  [[nodiscard]] const std::optional<Error>& error() const { return error_; }
  // How many were sent, those for a token included.
  [[nodiscard]] int requests() const { return requests_; }

 protected:
  struct Question {
    std::string path;    // below `/v2/REPOSITORY/`, or an absolute URL of the same origin
    std::string accept;  // empty: anything
    std::string what;    // for messages
  };
  [[nodiscard]] virtual Question first_question() const = 0;
  // The next question after an answer with status 200, or nothing at the end. May throw Error.
  virtual std::optional<Question> on_answer(const sys::HttpResponse& response) = 0;

  [[nodiscard]] const Reference& reference() const { return reference_; }
  [[nodiscard]] const std::string& url() const { return url_; }

 private:
  enum class TokenWay { refresh, password, anonymous };

  sys::HttpStep enter();
  sys::HttpStep ask();
  sys::HttpStep react(const sys::HttpResponse& response);
  sys::HttpStep on_unauthorized(const sys::HttpResponse& response);
  sys::HttpStep begin_token(const Challenge& challenge);
  sys::HttpStep ask_for_token(TokenWay way);
  sys::HttpStep on_token(const sys::HttpResponse& response);
  sys::HttpStep log_in(std::string authorization, Access::Login login);
  sys::HttpStep send(sys::HttpRequest request);
  bool try_next_origin(const sys::HttpResponse& response);
  void become_scout();
  void settle();
  [[nodiscard]] Error refusal(const sys::HttpResponse& response) const;
  [[nodiscard]] Error named(const Error& error) const;
  [[nodiscard]] Asked asked() const { return {reference_.registry(), question_.what}; }

  const Reference& reference_;
  Access& access_;
  const Credentials& credentials_;
  const RegistryOptions& options_;

  Question question_;
  std::string url_;                   // of the question that is under way
  std::string sent_authorization_;    // with it
  bool is_scout_ = false;             // finding out for all
  std::vector<std::string> origins_;  // of a scout: those left to try, the current one first
  std::optional<sys::HttpResponse> tls_fault_;

  std::optional<TokenWay> token_way_;  // set while a token is being asked for
  std::string realm_;
  std::string token_query_;
  Credential credential_;

  std::optional<Error> error_;
  int requests_ = 0;
};

}  // namespace sparkrun::oci
