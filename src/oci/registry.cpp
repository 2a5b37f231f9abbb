// SPDX-License-Identifier: MIT
#include "oci/registry.hpp"

#include "base/json_value.hpp"
#include "base/text.hpp"
#include "oci/url.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

namespace sparkrun::oci {
namespace {

constexpr std::string_view tags_per_page = "1000";

// The target of `<...>; rel="next"` (RFC 8288), or nothing.
std::optional<std::string> next_page(const sys::HttpResponse& response) {
  for (const std::string& link : response.all_headers("Link")) {
    const size_t open = link.find('<'), close = link.find('>');
    if (open == std::string::npos || close == std::string::npos || close < open) continue;
    const std::string parameters = to_lower(link.substr(close));
    if (parameters.find("rel=\"next\"") != std::string::npos ||
        parameters.find("rel=next") != std::string::npos) {
      return link.substr(open + 1, close - open - 1);
    }
  }
  return std::nullopt;
}

// Page after page of `tags/list` (distribution-spec, "Listing Tags").
class TagListing final : public RepositoryConversation {
 public:
  using RepositoryConversation::RepositoryConversation;

  [[nodiscard]] TagsResult result() const {
    if (error()) return *error();
    return tags_;
  }

 protected:
  [[nodiscard]] Question first_question() override {
    tags_.clear();
    pages_ = 0;
    return question(fmt::format("tags/list?n={}", tags_per_page));
  }

  std::optional<Question> on_answer(const sys::HttpResponse& response) override {
    const Json answer = parse_json(response.body).value_or(Json{});
    const Json& tags = member(answer, "tags");
    // A repository without tags may say `null`.
    if (!answer.is_object() || (!tags.is_array() && !tags.is_null())) {
      throw Error{"registry.not_a_registry", "the answer is not a list of tags"};
    }
    for (const Json& tag : tags) {
      if (tag.is_string()) add(tag.get<std::string>());
    }
    const auto next = next_page(response);
    if (!next) return std::nullopt;
    const std::string next_url = resolve_url(url(), *next);
    if (origin_of(next_url) != origin_of(std::as_const(*this).access().origin)) {
      throw Error{"registry.failed", "the next page of the tags is on another host"};
    }
    if (++pages_ == tag_pages_max) refuse();
    return question(next_url);
  }

 private:
  [[nodiscard]] Question question(std::string path) const {
    return {.path = std::move(path),
            .what = fmt::format("the tags of {}", reference().repository())};
  }

  void add(std::string tag) {
    if (tag.starts_with("sha256-") || !Reference::is_valid_tag(tag)) return;
    if (tags_.size() == tags_max) refuse();
    tags_.push_back(std::move(tag));
  }

  [[noreturn]] static void refuse() {
    throw Error{"registry.failed", fmt::format("there are more tags than can be looked through "
                                               "({} tags, {} pages)",
                                               tags_max, tag_pages_max)};
  }

  std::vector<std::string> tags_;
  int pages_ = 0;
};

}  // namespace

Error offline_error(const Reference& reference) {
  return Error{"registry.offline",
               fmt::format("registry {} would have to be asked for {}", reference.registry(),
                           reference.familiar()),
               {{"registry", reference.registry()}}};
}

Registry::Registry(sys::Http& http, Credentials credentials, RegistryOptions options,
                   Certificates certificates)
    : http_(http),
      client_{.credentials = std::move(credentials),
              .certificates = std::move(certificates),
              .options = std::move(options),
              .accesses = {}} {}

std::vector<ResolveResult> Registry::resolve(std::span<const ResolveRequest> requests) {
  std::vector<ResolveResult> results;
  if (client_.options.offline) {
    for (const ResolveRequest& request : requests) {
      results.push_back(offline_error(request.reference));
    }
    return results;
  }
  std::map<ResolveRequest, std::unique_ptr<Resolution>> resolutions;
  std::vector<sys::HttpConversation*> conversations;
  for (const ResolveRequest& request : requests) {
    std::unique_ptr<Resolution>& resolution = resolutions[request];
    if (resolution) continue;
    resolution = std::make_unique<Resolution>(request, client_);
    conversations.push_back(resolution.get());
  }
  http_.run(conversations);
  for (const ResolveRequest& request : requests) {
    results.push_back(resolutions.at(request)->result());
  }
  warn(results);
  return results;
}

void Registry::warn(const std::vector<ResolveResult>& results) {
  if (!client_.options.warning) return;
  for (const ResolveResult& result : results) {
    const auto* const resolved = std::get_if<Resolved>(&result);
    if (resolved == nullptr) continue;
    for (const std::string& warning : resolved->warnings) {
      if (warned_.insert(warning).second) client_.options.warning(warning);
    }
  }
}

std::vector<TagsResult> Registry::list_tags(std::span<const Reference> references) {
  std::vector<TagsResult> results;
  if (client_.options.offline) {
    for (const Reference& reference : references) results.push_back(offline_error(reference));
    return results;
  }
  std::vector<std::unique_ptr<TagListing>> listings;
  std::vector<sys::HttpConversation*> conversations;
  for (const Reference& reference : references) {
    listings.push_back(std::make_unique<TagListing>(reference, client_));
    conversations.push_back(listings.back().get());
  }
  http_.run(conversations);
  for (const auto& listing : listings) results.push_back(listing->result());
  return results;
}

}  // namespace sparkrun::oci
