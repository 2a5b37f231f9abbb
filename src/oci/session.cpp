// SPDX-License-Identifier: MIT
#include "oci/session.hpp"

#include "base/json_value.hpp"
#include "base/text.hpp"
#include "oci/url.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sparkrun::oci {
namespace {

constexpr size_t token_bytes_max = size_t{256} << 10;

bool is_listed(const std::vector<std::string>& list, std::string_view registry) {
  return std::ranges::any_of(list, [&](std::string_view entry) {
    return equal_ignoring_case(registry, entry) ||
           equal_ignoring_case(registry.substr(0, registry.rfind(':')), entry);
  });
}

// Go's and nginx's words for "this port speaks TLS".
bool wants_tls(const sys::HttpResponse& response) {
  return response.fault == sys::HttpFault::protocol ||
         (response.status == 400 && response.body.find("HTTPS") != std::string::npos);
}

bool lacks_tls(const sys::HttpResponse& response) {
  return response.fault == sys::HttpFault::tls || response.fault == sys::HttpFault::connect ||
         response.fault == sys::HttpFault::protocol;
}

// A fault of this one answer; the others say that the whole registry is out of reach.
bool is_of_one_answer(sys::HttpFault fault) {
  return fault == sys::HttpFault::too_large || fault == sys::HttpFault::redirect ||
         fault == sys::HttpFault::protocol;
}

// RFC 6750 allows no more than visible characters, and nothing else may get into a header.
bool is_token(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c > ' ' && c < '\x7f'; });
}

}  // namespace

std::vector<std::string> registry_origins(std::string_view registry,
                                          const RegistryOptions& options) {
  const std::string host{registry == "docker.io" ? "registry-1.docker.io" : registry};
  const std::string http = "http://" + host, https = "https://" + host;
  if (is_listed(options.plain_http, registry)) return {http};
  if (is_listed(options.tls, registry) || !is_loopback(registry)) return {https};
  return options.has_ca ? std::vector{https, http} : std::vector{http, https};
}

RepositoryConversation::RepositoryConversation(const Reference& reference, Access& access,
                                               const Credentials& credentials,
                                               const RegistryOptions& options)
    : reference_(reference), access_(access), credentials_(credentials), options_(options) {}

sys::HttpStep RepositoryConversation::begin() {
  question_ = first_question();
  return enter();
}

// The first conversation of a repository goes ahead, so that there is one 401 and one token, not
// one for each.
sys::HttpStep RepositoryConversation::enter() {
  if (access_.stage == Access::Stage::being_asked && !is_scout_) return sys::HttpWait{};
  if (access_.failure) {
    error_ = access_.failure;
    return sys::HttpDone{};
  }
  if (access_.stage == Access::Stage::unknown) {
    become_scout();
    origins_ = registry_origins(reference_.registry(), options_);
    access_.origin = origins_.front();
  }
  return ask();
}

sys::HttpStep RepositoryConversation::ask() {
  token_way_.reset();
  url_ = question_.path.find("://") != std::string::npos
             ? question_.path
             : fmt::format("{}/v2/{}/{}", access_.origin, reference_.repository(), question_.path);
  sent_authorization_ = access_.authorization;
  sys::HttpRequest request{.url = url_};
  if (!question_.accept.empty()) request.headers.emplace_back("Accept", question_.accept);
  if (!sent_authorization_.empty()) {
    request.headers.emplace_back("Authorization", sent_authorization_);
  }
  return send(std::move(request));
}

sys::HttpStep RepositoryConversation::send(sys::HttpRequest request) {
  ++requests_;
  request.limits.connect_timeout = options_.connect_timeout;
  request.limits.total_timeout = options_.total_timeout;
  return request;
}

sys::HttpStep RepositoryConversation::on_response(const sys::HttpResponse& response) {
  try {
    return token_way_ ? on_token(response) : react(response);
  } catch (const Error& error) {
    error_ = named(error);
    if (is_scout_) access_.failure = error_;
    settle();
    return sys::HttpDone{};
  }
}

sys::HttpStep RepositoryConversation::react(const sys::HttpResponse& response) {
  if (try_next_origin(response)) return ask();
  if (tls_fault_ && is_scout_ && (response.fault != sys::HttpFault::none || wants_tls(response))) {
    throw fault_error(*tls_fault_, reference_.registry());
  }
  if (response.fault != sys::HttpFault::none) {
    if (is_of_one_answer(response.fault)) settle();
    throw fault_error(response, reference_.registry());
  }
  if (response.status == 401) return on_unauthorized(response);
  settle();
  if (response.status == 403 && access_.login == Access::Login::refused) throw refusal(response);
  if (response.status != 200) throw status_error(response, asked());
  const auto next = on_answer(response);
  if (!next) return sys::HttpDone{};
  question_ = *next;
  return ask();
}

bool RepositoryConversation::try_next_origin(const sys::HttpResponse& response) {
  if (!is_scout_ || origins_.size() < 2) return false;
  const bool is_tls = origins_.front().starts_with("https:");
  if (is_tls ? !lacks_tls(response) : !wants_tls(response)) return false;
  if (is_tls) tls_fault_ = response;
  origins_.erase(origins_.begin());
  access_.origin = origins_.front();
  return true;
}

sys::HttpStep RepositoryConversation::on_unauthorized(const sys::HttpResponse& response) {
  if (!sent_authorization_.empty()) {
    settle();
    throw refusal(response);
  }
  // Another conversation met the same 401 before us, or is about to be through with it.
  if (!access_.authorization.empty()) return ask();
  if (!is_scout_ && access_.stage == Access::Stage::being_asked) return sys::HttpWait{};
  become_scout();

  credential_ =
      credentials_.find(reference_.registry(), reference_.repository()).value_or(Credential{});
  const auto challenges = parse_challenges(response.all_headers("WWW-Authenticate"));
  if (challenges.empty()) {
    throw Error{"registry.denied",
                fmt::format("registry {} denies {} and does not say how to log in{}",
                            reference_.registry(), question_.what, quote(response)),
                {{"registry", reference_.registry()}, {"status", "401"}}};
  }
  const auto challenge = choose_challenge(challenges, credential_.has_password());
  if (!challenge) throw refusal(response);
  if (challenge->scheme == "basic") return log_in(credential_.basic(), Access::Login::used);
  if (!credential_.registry_token.empty()) {
    return log_in("Bearer " + credential_.registry_token, Access::Login::used);
  }

  return begin_token(*challenge);
}

sys::HttpStep RepositoryConversation::begin_token(const Challenge& challenge) {
  realm_ = resolve_url(url_, challenge.value("realm"));
  if (access_.origin.starts_with("https:") && !origin_of(realm_).starts_with("https:")) {
    throw Error{"registry.failed",
                fmt::format("registry {} wants a token to be fetched without TLS, from {}",
                            reference_.registry(), printable(origin_of(realm_))),
                {{"registry", reference_.registry()}}};
  }
  const std::string scope = challenge.value("scope");
  token_query_ = "scope=" + percent_encode(scope.empty() ? fmt::format("repository:{}:pull",
                                                                       reference_.repository())
                                                         : scope);
  if (const std::string service = challenge.value("service"); !service.empty()) {
    token_query_ += "&service=" + percent_encode(service);
  }
  return ask_for_token(!credential_.identity_token.empty() ? TokenWay::refresh
                       : credential_.has_password()        ? TokenWay::password
                                                           : TokenWay::anonymous);
}

sys::HttpStep RepositoryConversation::ask_for_token(TokenWay way) {
  token_way_ = way;
  sys::HttpRequest request{.url = realm_};
  request.limits.body_bytes_max = token_bytes_max;
  if (way == TokenWay::refresh) {
    request.method = "POST";
    request.headers.emplace_back("Content-Type", "application/x-www-form-urlencoded");
    request.body = fmt::format("grant_type=refresh_token&client_id=sparkrun&refresh_token={}&{}",
                               percent_encode(credential_.identity_token), token_query_);
    return send(std::move(request));
  }
  request.url += (realm_.find('?') == std::string::npos ? "?" : "&") + token_query_;
  if (way == TokenWay::password) {
    request.headers.emplace_back("Authorization", credential_.basic());
  }
  return send(std::move(request));
}

sys::HttpStep RepositoryConversation::on_token(const sys::HttpResponse& response) {
  const std::string endpoint = printable(origin_of(realm_));
  if (response.fault != sys::HttpFault::none) throw fault_error(response, endpoint);
  const bool is_refused =
      response.status == 400 || response.status == 401 || response.status == 403;
  if (*token_way_ == TokenWay::refresh && (response.status == 404 || response.status == 405)) {
    return ask_for_token(credential_.has_password() ? TokenWay::password : TokenWay::anonymous);
  }
  if (is_refused && *token_way_ != TokenWay::anonymous) {
    // A stale password must not keep anyone from a public image.
    access_.login = Access::Login::refused;
    return ask_for_token(TokenWay::anonymous);
  }
  if (response.status == 401 || response.status == 403) throw refusal(response);
  if (response.status != 200) {
    throw status_error(response,
                       {reference_.registry(),
                        fmt::format("a token for {} from {}", reference_.repository(), endpoint)});
  }
  const auto json = parse_json(response.body);
  const std::string token = json ? string_or(*json, "token", string_or(*json, "access_token")) : "";
  if (!is_token(token)) {
    throw Error{"registry.failed",
                fmt::format("{} sent no token for {}", endpoint, reference_.name()),
                {{"registry", reference_.registry()}}};
  }
  return log_in("Bearer " + token,
                *token_way_ == TokenWay::anonymous ? access_.login : Access::Login::used);
}

// From here on the others can go, with the same token.
sys::HttpStep RepositoryConversation::log_in(std::string authorization, Access::Login login) {
  access_.authorization = std::move(authorization);
  access_.login = login;
  settle();
  return ask();
}

void RepositoryConversation::become_scout() {
  is_scout_ = true;
  access_.stage = Access::Stage::being_asked;
}

void RepositoryConversation::settle() {
  if (!is_scout_) return;
  is_scout_ = false;
  access_.stage = Access::Stage::known;
}

Error RepositoryConversation::refusal(const sys::HttpResponse& response) const {
  const std::string& registry = reference_.registry();
  const Error::Details details = {{"registry", registry},
                                  {"status", std::to_string(response.status)}};
  if (access_.login != Access::Login::none) {
    return Error{"registry.credentials_refused",
                 fmt::format("registry {} does not accept the stored credentials for {}{}",
                             registry, reference_.repository(), quote(response)),
                 details};
  }
  std::string message = fmt::format("registry {} does not give {} to anonymous clients{}", registry,
                                    question_.what, quote(response));
  if (const auto helper = credentials_.helper(registry)) {
    message += fmt::format("; the credential helper `{}` of docker's config.json is not asked",
                           printable(*helper));
  }
  return Error{"registry.login_needed", message, details};
}

// Errors of the pure parsers do not know whom and what was asked.
Error RepositoryConversation::named(const Error& error) const {
  if (error.details().contains("registry")) return error;
  Error::Details details = error.details();
  details.emplace("registry", reference_.registry());
  return Error{
      error.id(),
      fmt::format("registry {}, {}: {}", reference_.registry(), question_.what, error.what()),
      details, error.problems()};
}

}  // namespace sparkrun::oci
