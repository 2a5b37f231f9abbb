// SPDX-License-Identifier: MIT
#include "oci/session.hpp"

#include "base/secret.hpp"
#include "base/text.hpp"
#include "oci/url.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace sparkrun::oci {
namespace {

// Whoever expects TLS may hang up, or send an alert.
bool is_no_http(const sys::HttpResponse& response) {
  return response.fault == sys::HttpFault::protocol && !response.speaks_http;
}

// Go's and nginx's words for "this port speaks TLS".
bool says_tls(const sys::HttpResponse& response) {
  return response.status == 400 && response.body.find("HTTPS") != std::string::npos;
}

bool lacks_tls(const sys::HttpResponse& response) {
  return response.fault == sys::HttpFault::tls || response.fault == sys::HttpFault::connect ||
         response.fault == sys::HttpFault::protocol;  // `untrusted` speaks it
}

// A fault of this one answer; the others say that the whole registry is out of reach.
bool is_of_one_answer(sys::HttpFault fault) {
  return fault == sys::HttpFault::too_large || fault == sys::HttpFault::redirect ||
         fault == sys::HttpFault::protocol || fault == sys::HttpFault::stopped;
}

}  // namespace

std::vector<Access*> Client::accesses_of(const Reference& reference) {
  std::vector<Access*> found;
  for (Endpoint& endpoint : endpoints_of(reference.registry(), options, certificates)) {
    Access& access = accesses[{endpoint.origins.front(), reference.repository()}];
    if (access.endpoint.origins.empty()) access.endpoint = std::move(endpoint);
    found.push_back(&access);
  }
  return found;
}

RepositoryConversation::RepositoryConversation(const Reference& reference, Client& client)
    : reference_(reference), client_(client), exchange_(client.options, client.certificates) {}

// What was learnt about the way is shared when an error ends it.
template <typename Step>
sys::HttpStep RepositoryConversation::guarded(Step&& step) {
  try {
    return step();
  } catch (const Error& error) {
    if (error.id() == "interrupted" || error.id() == "bug") throw;
    return fail(error);
  }
}

sys::HttpStep RepositoryConversation::begin() {
  return guarded([&] {
    accesses_ = client_.accesses_of(reference_);
    return begin_at_endpoint();
  });
}

sys::HttpStep RepositoryConversation::begin_at_endpoint() {
  question_ = first_question();
  return enter();
}

sys::HttpStep RepositoryConversation::resume() {
  return guarded([&] {
    if (!std::exchange(is_pausing_, false)) return enter();
    return exchange_.resume();
  });
}

sys::HttpStep RepositoryConversation::on_response(const sys::HttpResponse& response) {
  return guarded([&]() -> sys::HttpStep {
    const auto outcome = exchange_.on_response(response, leads_to_next_origin(response));
    if (const auto* const step = std::get_if<sys::HttpStep>(&outcome)) {
      is_pausing_ = std::holds_alternative<sys::HttpPause>(*step);
      return *step;
    }
    const auto& answer = std::get<sys::HttpResponse>(outcome);
    if (!token_fetch_) note_reached(answer);
    return token_fetch_ ? on_token(answer) : react(answer);
  });
}

// A mirror that fails, for whatever reason, is one that was not there.
sys::HttpStep RepositoryConversation::fail(const Error& error) {
  const Error told = scrubbed(named(error));
  if (accesses_.empty()) {
    error_ = told;
    return sys::HttpDone{};
  }
  if (is_host_scout_ && is_unreached_) shared_host().failure = told;
  if (is_scout_) {
    const bool is_late = error.id() == "registry.timeout" && !is_unreached_;
    if (!is_late || ++access().timeouts == Access::timeouts_max) access().failure = told;
  }
  const bool is_to_be_asked_anew = is_scout_ && !access().failure;
  settle();
  if (is_to_be_asked_anew) access().stage = Access::Stage::unknown;
  token_fetch_.reset();
  if (question_.is_optional) return go_on_without(told);
  if (place_ + 1 < accesses_.size()) {
    detours_.push_back(fmt::format("mirror {}: {}", host(), told.what()));
    ++place_;
    has_renewed_ = is_unreached_ = is_http_doubted_ = false;
    tls_fault_.reset();
    return guarded([&] { return begin_at_endpoint(); });
  }
  error_ = told;
  on_failure(told);
  return sys::HttpDone{};
}

// What was optional is not worth an error: no answer is an answer.
sys::HttpStep RepositoryConversation::go_on_without(const Error& error) {
  question_.is_optional = false;
  return guarded([&]() -> sys::HttpStep {
    const auto next = on_answer({.fault = sys::HttpFault::protocol, .fault_text = error.what()});
    if (!next) return sys::HttpDone{};
    question_ = *next;
    return ask();
  });
}

Host& RepositoryConversation::shared_host() {
  return client_.hosts[access().endpoint.origins.front()];
}

// A host that nobody can reach is tried by one, not by each repository in turn.
void RepositoryConversation::note_reached(const sys::HttpResponse& response) {
  const bool is_answer = response.fault == sys::HttpFault::none;
  is_unreached_ = !is_answer && !response.was_sent;
  if (is_unreached_ || !is_host_scout_) return;
  is_host_scout_ = false;
  shared_host().stage = Access::Stage::known;
}

// The first conversation of a repository goes ahead, so that there is one 401 and one token, not
// one for each.
sys::HttpStep RepositoryConversation::enter() {
  Host& shared = shared_host();
  if (shared.stage == Access::Stage::being_asked && !is_host_scout_) return sys::HttpWait{};
  if (shared.failure) throw Error{*shared.failure};
  if (access().stage == Access::Stage::being_asked && !is_scout_) return sys::HttpWait{};
  if (access().failure) throw Error{*access().failure};
  if (shared.stage == Access::Stage::unknown) {
    is_host_scout_ = true;
    shared.stage = Access::Stage::being_asked;
  }
  if (access().stage == Access::Stage::unknown) {
    become_scout();
    origins_ = access().endpoint.origins;
    access().origin = origins_.front();
  }
  return ask();
}

sys::HttpStep RepositoryConversation::ask() {
  token_fetch_.reset();
  const std::string& origin = access().origin;
  exchange_.go_to(host(), origin);
  sent_authorization_ = access().authorization;
  sys::HttpRequest request{.method = question_.method, .sink = question_.sink};
  request.url = question_.path.find("://") != std::string::npos
                    ? question_.path
                    : fmt::format("{}/v2/{}/{}", origin, reference_.repository(), question_.path);
  if (!question_.accept.empty()) request.headers.emplace_back("Accept", question_.accept);
  const bool is_ours = origin_of(request.url) == origin_of(origin);
  if (!sent_authorization_.empty() && is_ours) {
    request.headers.emplace_back("Authorization", sent_authorization_);
  }
  // Where there is someone else to ask, that comes before another try.
  const bool is_worth_retries = place_ + 1 == accesses_.size() && !question_.is_optional;
  return exchange_.begin(std::move(request), is_worth_retries ? tries_max : 1);
}

sys::HttpStep RepositoryConversation::react(const sys::HttpResponse& response) {
  if (leads_to_next_origin(response)) return try_next_origin(response);
  if (tls_fault_ && is_scout_ && !is_http_doubted_ &&
      (response.fault != sys::HttpFault::none || says_tls(response))) {
    throw fault_error(*tls_fault_, {host(), host()});
  }
  const bool is_sent_elsewhere = origin_of(url()) != origin_of(access().origin);
  if (response.status == 401 && !is_sent_elsewhere) return on_unauthorized(response);
  if (response.status == 400 && may_renew()) return renew();
  const bool is_partial = response.status == 206 && question_.sink != nullptr;
  const bool is_success =
      response.fault == sys::HttpFault::none && (response.status == 200 || is_partial);
  if (!is_success && !question_.is_optional) {
    if (response.fault == sys::HttpFault::stopped && question_.sink->failure()) {
      settle();
      throw Error{*question_.sink->failure()};
    }
    if (response.fault != sys::HttpFault::none) {
      if (is_of_one_answer(response.fault)) settle();
      throw fault_error(response, {host(), host()});
    }
    settle();
    if (response.status == 403 && access().login == Access::Login::refused) throw refusal(response);
    throw status_error(response, asked());
  }
  if (is_success && !sent_authorization_.empty() && sent_authorization_ == access().authorization) {
    access().is_proven = true;
    has_renewed_ = false;  // a long download outlives many tokens
  }
  settle();
  const auto next = on_answer(response);
  if (!next) return sys::HttpDone{};
  question_ = *next;
  return ask();
}

bool RepositoryConversation::leads_to_next_origin(const sys::HttpResponse& response) const {
  if (token_fetch_ || !is_scout_ || origins_.size() < 2) return false;
  return origins_.front().starts_with("https:") ? lacks_tls(response)
                                                : is_no_http(response) || says_tls(response);
}

sys::HttpStep RepositoryConversation::try_next_origin(const sys::HttpResponse& response) {
  if (origins_.front().starts_with("https:")) {
    tls_fault_ = response;
  } else if (is_no_http(response)) {
    // Where TLS is not spoken either, it was a fault like others.
    is_http_doubted_ = true;
    origins_.push_back(origins_.front());
  }
  origins_.erase(origins_.begin());
  access().origin = origins_.front();
  return ask();
}

sys::HttpStep RepositoryConversation::on_unauthorized(const sys::HttpResponse& response) {
  // Another conversation is about to be through with the same 401, or has been.
  if (access().stage == Access::Stage::being_asked && !is_scout_) return sys::HttpWait{};
  if (sent_authorization_ != access().authorization) return enter();
  if (sent_authorization_.empty()) return log_in(response);
  if (may_renew()) return renew();
  look_for_login();
  if (access().login == Access::Login::used &&
      sent_authorization_ == "Bearer " + login_.credential.registry_token) {
    // A stored token that has expired is like a stale password.
    access().authorization.clear();
    access().login = Access::Login::refused;
    return log_in(response);
  }
  settle();
  throw refusal(response);
}

// A token that was good before has expired: answered with 401, by some with 400 (oras-go#1227).
bool RepositoryConversation::may_renew() const {
  return !has_renewed_ && access().is_proven && access().realm &&
         sent_authorization_.starts_with("Bearer ");
}

sys::HttpStep RepositoryConversation::renew() {
  if (access().stage == Access::Stage::being_asked && !is_scout_) return sys::HttpWait{};
  if (sent_authorization_ != access().authorization) return enter();
  has_renewed_ = true;
  become_scout();
  access().authorization.clear();
  access().is_proven = false;
  look_for_login();
  login_.credential.registry_token.clear();
  return begin_token();
}

void RepositoryConversation::look_for_login() {
  login_ = client_.credentials.find(host(), reference_.repository()).value_or(Login{});
  access().login_source = login_.source;
  if (client_.refused_logins.contains(login_key())) {
    access().login = Access::Login::refused;
    login_.credential = {};
  }
}

// One login, without being one.
std::string RepositoryConversation::login_key() const {
  const Credential& credential = login_.credential;
  return sha256_hex(fmt::format("{}\n{}\n{}\n{}", host(), credential.basic(),
                                credential.identity_token, credential.registry_token));
}

sys::HttpStep RepositoryConversation::log_in(const sys::HttpResponse& response) {
  become_scout();
  look_for_login();
  const auto challenges = parse_challenges(response.all_headers("WWW-Authenticate"));
  if (challenges.empty()) {
    throw Error{"registry.denied",
                fmt::format("registry {} denies {} and does not say how to log in{}", host(),
                            question_.what, quote(response)),
                {{"registry", host()}, {"status", "401"}}};
  }
  const auto challenge = choose_challenge(challenges, login_.credential.has_password());
  if (!challenge) throw refusal(response);
  if (challenge->scheme == "basic") {
    return go_on_with(login_.credential.basic(), Access::Login::used);
  }
  if (!access().realm) access().realm = realm_of(*challenge, url(), reference_);
  if (!login_.credential.registry_token.empty() && access().login != Access::Login::refused) {
    return go_on_with("Bearer " + login_.credential.registry_token, Access::Login::used);
  }
  return begin_token();
}

sys::HttpStep RepositoryConversation::begin_token() {
  token_fetch_.emplace(*access().realm, login_.credential);
  return send_for_token();
}

sys::HttpStep RepositoryConversation::send_for_token() {
  const bool is_last = place_ + 1 == accesses_.size();
  return exchange_.begin(token_fetch_->request(), is_last ? tries_max : 1);
}

sys::HttpStep RepositoryConversation::on_token(const sys::HttpResponse& response) {
  const std::string endpoint = token_fetch_->endpoint();
  if (response.fault != sys::HttpFault::none) throw fault_error(response, {host(), endpoint});
  const TokenFetch::Outcome outcome = token_fetch_->on_answer(response);
  if (token_fetch_->is_login_refused() && access().login != Access::Login::refused) {
    access().login = Access::Login::refused;
    client_.refused_logins.insert(login_key());
  }
  switch (outcome) {
    case TokenFetch::Outcome::next_way:
      return send_for_token();
    case TokenFetch::Outcome::token:
      return go_on_with("Bearer " + token_fetch_->token(),
                        token_fetch_->is_logged_in() ? Access::Login::used : access().login);
    case TokenFetch::Outcome::refused:
      throw refusal(response);
    case TokenFetch::Outcome::failed:
      break;
  }
  // Not having a token is not the same as not having the image.
  if (response.status == 429) {
    throw status_error(response, {host(), fmt::format("a token for {} from {}",
                                                      reference_.repository(), endpoint)});
  }
  throw Error{"registry.failed",
              fmt::format("{} sent no token for {}{}", endpoint, reference_.name(),
                          response.status == 200 ? "" : quote(response)),
              {{"registry", host()}}};
}

// From here on the others can go, with the same token.
sys::HttpStep RepositoryConversation::go_on_with(std::string authorization, Access::Login login) {
  access().authorization = std::move(authorization);
  access().failure.reset();
  access().login = login;
  settle();
  return ask();
}

void RepositoryConversation::become_scout() {
  is_scout_ = true;
  access().stage = Access::Stage::being_asked;
}

void RepositoryConversation::settle() {
  if (std::exchange(is_host_scout_, false)) {
    Host& shared = shared_host();
    shared.stage = shared.failure || !is_unreached_ ? Access::Stage::known : Access::Stage::unknown;
  }
  if (!is_scout_) return;
  is_scout_ = false;
  access().stage = Access::Stage::known;
}

Error RepositoryConversation::refusal(const sys::HttpResponse& response) const {
  const Error::Details details = {{"registry", host()},
                                  {"status", std::to_string(response.status)}};
  if (access().login != Access::Login::none) {
    return Error{"registry.credentials_refused",
                 fmt::format("registry {} does not accept the login from {} for {}{}", host(),
                             access().login_source, reference_.repository(), quote(response)),
                 details};
  }
  return Error{"registry.login_needed",
               fmt::format("registry {} does not give {} to anonymous clients{}", host(),
                           question_.what, quote(response)),
               details};
}

// A server may echo what it was sent.
Error RepositoryConversation::scrubbed(const Error& error) const {
  const Credential& credential = login_.credential;
  std::string message = error.what();
  for (const std::string& secret :
       {credential.password, credential.identity_token, credential.registry_token,
        credential.has_password() ? credential.basic().substr(6) : "",
        std::string{split_once(sent_authorization_, ' ').second}}) {
    constexpr size_t secret_length_min = 4;
    if (secret.size() < secret_length_min) continue;
    // On from behind what was put there, which may hold the secret itself.
    for (size_t at = message.find(secret); at != std::string::npos;
         at = message.find(secret, at + redacted.size())) {
      message.replace(at, secret.size(), redacted);
    }
  }
  return Error{error.id(), message, error.details(), error.problems()};
}

// Errors of the pure parsers do not know whom and what was asked.
Error RepositoryConversation::named(const Error& error) const {
  if (error.details().contains("registry") || error.id() == "file.unwritable") return error;
  Error::Details details = error.details();
  details.emplace("registry", host());
  return Error{
      error.id(),
      fmt::format("registry {}, {}: {}", host(),
                  question_.what.empty() ? reference_.familiar() : question_.what, error.what()),
      details, error.problems()};
}

}  // namespace sparkrun::oci
