// SPDX-License-Identifier: MIT
#include "oci/resolution.hpp"

#include "base/text.hpp"
#include "oci/media_type.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sparkrun::oci {
namespace {

constexpr int index_depth_max = 3;
constexpr size_t nested_indexes_max = 16;
constexpr size_t children_max = 256;

[[noreturn]] void mismatch(const std::string& what) {
  throw Error{"registry.content_mismatch", what};
}

void check_digest(const sys::HttpResponse& response, const Digest& expected) {
  if (expected.matches(response.body)) return;
  mismatch(fmt::format("the content does not hash to {}", expected.to_string()));
}

// A header that is no digest counts as absent: some registries send the bare hex, or an ETag.
void check_announced_digest(const sys::HttpResponse& response) {
  const std::string announced{trim(response.header("Docker-Content-Digest").value_or(""))};
  if (!Digest::is_valid(announced) || Digest::parse(announced).matches(response.body)) return;
  mismatch(fmt::format("the content does not hash to the {} that is announced with it", announced));
}

void check_content(const sys::HttpResponse& response, const Descriptor& expected) {
  check_digest(response, expected.digest);
  if (static_cast<long long>(response.body.size()) == expected.size) return;
  mismatch(fmt::format("the content has {} bytes, its descriptor says {}", response.body.size(),
                       expected.size));
}

std::string content_type(const sys::HttpResponse& response) {
  return response.header("Content-Type").value_or("");
}

// `98;w=21600`: a number and, perhaps, a window in seconds.
std::optional<RateLimit> rate_limit_of(const sys::HttpResponse& response) {
  const std::string limit = response.header("RateLimit-Limit").value_or("");
  const std::string remaining = response.header("RateLimit-Remaining").value_or("");
  const auto [limit_count, parameter] = split_once(limit, ';');
  const auto total = parse_number(trim(limit_count));
  const auto left = parse_number(trim(split_once(remaining, ';').first));
  if (!total || !left) return std::nullopt;
  const auto [name, window] = split_once(trim(parameter), '=');
  return RateLimit{.limit = *total,
                   .remaining = *left,
                   .window_seconds = name == "w" ? parse_number(window).value_or(0) : 0};
}

// Each once, in the order of the request.
std::vector<Platform> wanted_platforms(const ResolveRequest& request) {
  std::vector<Platform> wanted;
  const auto add = [&](const Platform& platform) {
    if (std::ranges::find(wanted, platform) == wanted.end()) wanted.push_back(platform);
  };
  std::ranges::for_each(request.platforms, add);
  if (request.platform) add(*request.platform);
  return wanted;
}

ImageDetails details_of(const Manifest& manifest, ImageConfig image) {
  long long download_bytes = 0;
  for (const Descriptor& layer : manifest.layers) download_bytes += layer.size;
  const Digest chain = chain_id(image.diff_ids);
  return {.config = manifest.config->digest,
          .chain = chain,
          .download_bytes = download_bytes,
          .layers = manifest.layers,
          .image = std::move(image)};
}

}  // namespace

Resolution::Resolution(const ResolveRequest& request, Client& client)
    : RepositoryConversation(request.reference, client),
      request_(request),
      wanted_(wanted_platforms(request)) {}

// A digest names the content exactly, whatever the tag beside it points at now.
RepositoryConversation::Question Resolution::first_question() {
  resolved_.reset();
  rate_limit_.reset();
  warnings_.clear();
  expecting_ = Expecting::root;
  nested_.clear();
  children_.clear();
  nameless_ = 0;
  has_chosen_ = false;
  place_ = 0;
  const Reference& wanted = reference();
  if (!wanted.digest()) return ask_for_tag(Expecting::root);
  const std::string digest = wanted.digest()->to_string();
  return {.path = "manifests/" + digest,
          .accept = std::string{media_type::accepted},
          .what = fmt::format("{}@{}", wanted.repository(), digest)};
}

// HEAD is enough to see that a tag has not moved, and no registry counts it as a pull.
RepositoryConversation::Question Resolution::ask_for_tag(Expecting what) {
  expecting_ = what;
  const std::string tag = reference().tag().value_or("latest");
  return {.path = "manifests/" + tag,
          .accept = std::string{media_type::accepted},
          .what = fmt::format("{}:{}", reference().repository(), tag),
          .method = what == Expecting::tag ? "HEAD" : "GET",
          .is_optional = what != Expecting::root};
}

RepositoryConversation::Question Resolution::ask_by_digest(Expecting what,
                                                           const Descriptor& descriptor) {
  expecting_ = what;
  asked_for_ = descriptor;
  const std::string digest = descriptor.digest.to_string();
  const bool is_blob = what == Expecting::config;
  return {.path = (is_blob ? "blobs/" : "manifests/") + digest,
          .accept = is_blob ? "" : std::string{media_type::accepted},
          .what = fmt::format("{}@{}{}", reference().repository(), digest,
                              is_blob ? " (the image's config)" : "")};
}

std::optional<RepositoryConversation::Question> Resolution::on_answer(
    const sys::HttpResponse& response) {
  if (const auto limit = rate_limit_of(response)) rate_limit_ = limit;
  switch (expecting_) {
    case Expecting::root:
      return on_root(response);
    case Expecting::tag:
      return on_tag(response);
    case Expecting::tag_content:
      return on_tag_content(response);
    case Expecting::nested_index:
    case Expecting::manifest:
    case Expecting::config:
      break;
  }
  return on_content(response);
}

std::optional<RepositoryConversation::Question> Resolution::on_content(
    const sys::HttpResponse& response) {
  check_content(response, *asked_for_);
  if (expecting_ == Expecting::config) return on_config(response);
  Manifest manifest = parse_manifest(response.body, content_type(response));
  if (expecting_ == Expecting::nested_index) {
    const int depth = nested_.front().depth;
    nested_.pop_front();
    if (manifest.kind == Kind::index) add_children(manifest, depth);
    return next();
  }
  if (manifest.kind != Kind::manifest) {
    throw Error{"registry.not_a_registry", "the child for a platform is an index"};
  }
  manifest_ = std::move(manifest);
  return ask_by_digest(Expecting::config, *manifest_.config);
}

std::optional<RepositoryConversation::Question> Resolution::on_root(
    const sys::HttpResponse& response) {
  // First what it is, then whether it is the right one: a login page should be called by its name.
  manifest_ = parse_manifest(response.body, content_type(response));
  check_announced_digest(response);
  const auto& wanted = reference().digest();
  if (wanted) check_digest(response, *wanted);
  resolved_ = Resolved{.reference = reference(),
                       .digest = wanted ? *wanted : Digest::sha256_of(response.body),
                       .kind = manifest_.kind,
                       .media_type = manifest_.media_type,
                       .manifest_bytes = static_cast<long long>(response.body.size())};
  if (manifest_.kind == Kind::index) {
    add_children(manifest_, 1);
    return next();
  }
  if (wanted_.empty() && request_.detail == ResolveDetail::listing) {
    has_chosen_ = true;
    return next();
  }
  return ask_by_digest(Expecting::config, *manifest_.config);
}

// `depth` of the index itself; the tag's own index is at 1.
void Resolution::add_children(const Manifest& index, int depth) {
  for (const Descriptor& child : index.manifests) {
    if (media_type::is_index(child.media_type)) {
      if (depth < index_depth_max) nested_.push_back({child, depth + 1});
    } else if (!child.platform) {
      ++nameless_;
    } else if (!child.platform->is_unknown()) {
      children_.push_back(child);
    }
  }
  if (nested_.size() > nested_indexes_max || children_.size() > children_max) {
    throw Error{"registry.not_a_registry",
                fmt::format("the index has more than {} children or {} indexes within it",
                            children_max, nested_indexes_max)};
  }
}

const Descriptor* Resolution::find_child(const Platform& wanted) const {
  const auto exact = std::ranges::find(children_, wanted, &Descriptor::platform);
  if (exact != children_.end()) return &*exact;
  const auto baseline = std::ranges::find_if(
      children_, [&](const Descriptor& child) { return child.platform->matches(wanted); });
  return baseline != children_.end() ? &*baseline : nullptr;
}

std::optional<RepositoryConversation::Question> Resolution::next() {
  if (auto question = next_content()) return question;
  const bool has_both = reference().tag() && reference().digest();
  if (!request_.asks_for_tag || !has_both || resolved_->tag) return std::nullopt;
  resolved_->tag.emplace();
  return ask_for_tag(Expecting::tag);
}

// What has to be fetched beyond the index itself, one after the other.
std::optional<RepositoryConversation::Question> Resolution::next_content() {
  const bool is_any_missing = std::ranges::any_of(
      wanted_, [&](const Platform& wanted) { return find_child(wanted) == nullptr; });
  const bool wants_all = wanted_.empty() && request_.detail == ResolveDetail::configs;
  if (!has_chosen_ && !nested_.empty() && (is_any_missing || wants_all)) {
    return ask_by_digest(Expecting::nested_index, nested_.front().descriptor);
  }
  if (!has_chosen_) choose_platforms();
  if (request_.detail == ResolveDetail::listing || place_ == resolved_->platforms.size()) {
    return std::nullopt;
  }
  const ResolvedPlatform& platform = resolved_->platforms[place_];
  return ask_by_digest(Expecting::manifest,
                       {.digest = platform.digest, .size = platform.manifest_bytes});
}

void Resolution::choose_platforms() {
  has_chosen_ = true;
  const auto add = [&](const Platform& platform, const Descriptor& child) {
    resolved_->platforms.push_back(
        {.platform = platform, .digest = child.digest, .manifest_bytes = child.size});
  };
  for (const Platform& wanted : wanted_) {
    const Descriptor* const child = find_child(wanted);
    if (child == nullptr) throw platform_missing(wanted);
    notice_twins(wanted);
    add(wanted, *child);
    if (wanted == request_.platform) {
      resolved_->digest = child->digest;
      resolved_->kind = Kind::manifest;
      resolved_->media_type = child->media_type;
      resolved_->manifest_bytes = child->size;
    }
  }
  if (wanted_.empty()) {
    for (const Descriptor& child : children_) add(*child.platform, child);
  }
}

std::optional<RepositoryConversation::Question> Resolution::on_config(
    const sys::HttpResponse& response) {
  ImageConfig image = parse_image_config(response.body);
  if (!has_chosen_) {
    // A manifest without an index: only now is its platform known.
    children_ = {Descriptor{.media_type = resolved_->media_type,
                            .digest = resolved_->digest,
                            .size = resolved_->manifest_bytes,
                            .platform = image.platform}};
    choose_platforms();
  }
  if (request_.detail == ResolveDetail::listing) return next();
  resolved_->platforms.at(place_++).details = details_of(manifest_, std::move(image));
  return next();
}

// A header that is no digest counts as absent, and a HEAD that fails says little: some registries
// answer only a GET (diun#1614), which is not for one that has had enough of us. Where the digest
// is another one, it may still be that of the index around the pinned build.
std::optional<RepositoryConversation::Question> Resolution::on_tag(
    const sys::HttpResponse& response) {
  const std::string announced{trim(response.header("Docker-Content-Digest").value_or(""))};
  if (response.status == 200 && announced == reference().digest()->to_string()) {
    resolved_->tag->digest = *reference().digest();
    return std::nullopt;
  }
  if (is_passing(response)) return std::nullopt;
  return ask_for_tag(Expecting::tag_content);
}

std::optional<RepositoryConversation::Question> Resolution::on_tag_content(
    const sys::HttpResponse& response) {
  TagNow& tag = *resolved_->tag;
  tag.is_gone = response.status == 404;
  if (response.status != 200) return std::nullopt;
  const Manifest manifest = parse_manifest(response.body, content_type(response));
  check_announced_digest(response);
  const Digest& pinned = *reference().digest();
  tag.digest = pinned.matches(response.body) ? pinned : Digest::sha256_of(response.body);
  tag.has_moved =
      tag.digest != pinned && std::ranges::find(manifest.manifests, pinned, &Descriptor::digest) ==
                                  manifest.manifests.end();
  return std::nullopt;
}

// Docker takes the first without a word.
void Resolution::notice_twins(const Platform& wanted) {
  std::vector<std::string> digests;
  for (const Descriptor& child : children_) {
    if (child.platform == wanted) digests.push_back(child.digest.to_string());
  }
  const size_t count = digests.size();
  if (count < 2) return;
  if (request_.refuses_twins) {
    throw Error{"registry.platform_ambiguous",
                fmt::format("{} has {} builds for {}: {}", reference().familiar(), count,
                            wanted.to_string(), join(digests, ", ")),
                {{"registry", reference().registry()}, {"platform", wanted.to_string()}}};
  }
  warnings_.push_back(fmt::format("{} has {} builds for {}; taking the first, as docker does",
                                  reference().familiar(), count, wanted.to_string()));
}

Error Resolution::platform_missing(const Platform& wanted) const {
  std::vector<std::string> available;
  for (const Descriptor& child : children_) available.push_back(child.platform->to_string());
  std::ranges::sort(available);
  available.erase(std::unique(available.begin(), available.end()), available.end());
  const std::string list = join(available, ", ");
  const std::string nameless =
      nameless_ == 0 ? "" : fmt::format("; {} of its entries say no platform", nameless_);
  return Error{
      "registry.platform_missing",
      fmt::format("{} has no build for {}{}{}{}", reference().familiar(), wanted.to_string(),
                  list.empty() ? ", nor for any other platform" : "; it has ", printable(list),
                  nameless),
      {{"registry", reference().registry()},
       {"platform", wanted.to_string()},
       {"available", list}}};
}

ResolveResult Resolution::result() const {
  if (error()) return *error();
  if (!resolved_) return Error{"bug", "a resolution ended without a result"};
  Resolved resolved = *resolved_;
  resolved.requests = requests();
  resolved.endpoint = access().origin;
  resolved.rate_limit = rate_limit_;
  resolved.warnings = warnings_;
  resolved.notes = detours();
  if (access().login == Access::Login::used) resolved.login = access().login_source;
  if (access().login == Access::Login::refused) {
    resolved.warnings.push_back(
        fmt::format("registry {} does not accept the login from {}; asked as anybody",
                    reference().registry(), access().login_source));
  }
  return resolved;
}

}  // namespace sparkrun::oci
