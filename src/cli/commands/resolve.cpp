// SPDX-License-Identifier: MIT
#include "base/error.hpp"
#include "base/json_value.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/registry.hpp"
#include "oci/connect.hpp"

#include <fmt/format.h>

#include <array>

namespace sparkrun::cli {
namespace {

constexpr auto options = std::to_array<Option>({
    {"REF",
     "",
     Takes::values,
     "",
     "image references; `-` reads them from standard input, one a line",
     Values::any,
     {},
     true},
    {"--platform", "", Takes::value, "PLATFORM",
     "print the digest of that platform's build, not the tag's own"},
    cacert_option,
    {"--all-platforms", "", Takes::nothing, "", "print the digest of every platform's build too"},
});

constexpr size_t input_bytes_max = size_t{4} << 20;

// One question as typed, and its answer.
struct Answer {
  std::string typed;
  std::string name;  // expanded; empty when the reference is malformed
  std::variant<oci::Resolved, Error> result;
};

std::vector<std::string> read_references(const Arguments& arguments, Context& context) {
  std::vector<std::string> references;
  for (const std::string& word : arguments.values("REF")) {
    if (word != "-") {
      references.push_back(word);
      continue;
    }
    const std::string input = context.system.terminal.read_in(input_bytes_max);
    for (const std::string_view line : split(input, '\n')) {
      if (!trim(line).empty() && !trim(line).starts_with('#')) references.emplace_back(trim(line));
    }
  }
  return references;
}

// Malformed references are answers too: one of them does not keep the others from being asked.
std::vector<Answer> resolve_all(const std::vector<std::string>& references,
                                const std::optional<oci::Platform>& platform,
                                oci::Registry& registry) {
  std::vector<Answer> answers;
  std::vector<oci::ResolveRequest> requests;
  std::vector<size_t> places;
  for (const std::string& typed : references) {
    Answer answer{.typed = typed, .name = "", .result = Error{"bug", "not asked"}};
    try {
      const oci::Reference reference = oci::Reference::parse(typed);
      answer.name = reference.to_string();
      requests.push_back({.reference = reference, .platform = platform, .asks_for_tag = true});
      places.push_back(answers.size());
    } catch (const Error& error) {
      answer.result = error;
    }
    answers.push_back(std::move(answer));
  }
  std::vector<oci::ResolveResult> results = registry.resolve(requests);
  for (size_t i = 0; i < results.size(); ++i) answers[places[i]].result = std::move(results[i]);
  return answers;
}

Json answer_json(const Answer& answer) {
  Json json{{"reference", answer.typed}};
  if (!answer.name.empty()) json["name"] = answer.name;
  if (const auto* error = std::get_if<Error>(&answer.result)) {
    json["error"] = to_json(*error);
    return json;
  }
  const auto& resolved = std::get<oci::Resolved>(answer.result);
  json["digest"] = resolved.digest.to_string();
  json["kind"] = oci::to_string(resolved.kind);
  json["media_type"] = resolved.media_type;
  json["manifest_bytes"] = resolved.manifest_bytes;
  json["platforms"] = Json::array();
  for (const oci::ResolvedPlatform& found : resolved.platforms) {
    json["platforms"].push_back({{"platform", found.platform.to_string()},
                                 {"digest", found.digest.to_string()},
                                 {"manifest_bytes", found.manifest_bytes}});
  }
  json["endpoint"] = resolved.endpoint;
  json["requests"] = resolved.requests;
  if (!resolved.login.empty()) json["login"] = resolved.login;
  if (const auto& limit = resolved.rate_limit) {
    json["rate_limit"] = {{"limit", limit->limit},
                          {"remaining", limit->remaining},
                          {"window_seconds", limit->window_seconds}};
  }
  if (const auto& tag = resolved.tag) {
    json["tag"] = {{"name", *resolved.reference.tag()},
                   {"digest", tag->digest ? Json(tag->digest->to_string()) : Json()},
                   {"moved", tag->has_moved},
                   {"gone", tag->is_gone}};
  }
  json["warnings"] = resolved.warnings;
  return json;
}

// What is said of an answer beside the answer.
void remark(const Answer& answer, Output& output) {
  const auto& resolved = std::get<oci::Resolved>(answer.result);
  for (const std::string& warning : resolved.warnings) output.warning(warning);
  if (const auto& tag = resolved.tag) {
    const std::string name = fmt::format("tag `{}` of {}", *resolved.reference.tag(),
                                         resolved.reference.familiar_name());
    if (tag->is_gone) output.note(fmt::format("{} is gone; the digest is still there", name));
    if (tag->has_moved) {
      output.note(fmt::format("{} now points at {}", name, tag->digest->to_string()));
    }
    if (!tag->digest && !tag->is_gone) output.note(fmt::format("{} could not be asked for", name));
  }
  for (const std::string& note : resolved.notes) output.detail(note);
  output.detail(fmt::format(
      "{}: answered by {}, {} request{}{}", answer.name, resolved.endpoint, resolved.requests,
      resolved.requests == 1 ? "" : "s",
      resolved.login.empty() ? ", without login" : ", with the login from " + resolved.login));
  if (const auto& limit = resolved.rate_limit) {
    output.detail(fmt::format(
        "{}: {} of {} requests left{}", answer.name, limit->remaining, limit->limit,
        limit->window_seconds == 0 ? "" : fmt::format(" in {} s", limit->window_seconds)));
  }
}

std::string answer_text(const Answer& answer, bool lists_platforms) {
  const auto& resolved = std::get<oci::Resolved>(answer.result);
  std::string text = fmt::format("{}  {}  {}\n", resolved.digest.to_string(),
                                 oci::to_string(resolved.kind), answer.name);
  if (!lists_platforms) return text;
  for (const oci::ResolvedPlatform& found : resolved.platforms) {
    text += fmt::format("{}  manifest  {}  {}\n", found.digest.to_string(), answer.name,
                        found.platform.to_string());
  }
  return text;
}

int run(const Arguments& arguments, Context& context) {
  std::optional<oci::Platform> platform;
  if (const auto typed = arguments.value("--platform")) platform = oci::Platform::parse(*typed);
  const std::vector<std::string> references = read_references(arguments, context);
  apply_registry_options(arguments, context.settings);
  oci::Talk talk = registry_talk(context.output);
  talk.warning = nullptr;  // they are part of the answers
  oci::Registry registry = oci::connect(context.system, context.settings, std::move(talk));
  ExitCode code = ExitCode::ok;
  Json json = Json::array();
  for (const Answer& answer : resolve_all(references, platform, registry)) {
    const auto* const error = std::get_if<Error>(&answer.result);
    if (error == nullptr)
      remark(answer, context.output);
    else
      code = worse(code, error->exit_code());
    if (context.output.json)
      json.push_back(answer_json(answer));
    else if (error != nullptr)
      context.output.error(*error);
    else
      context.output.result(answer_text(answer, arguments.has("--all-platforms")));
  }
  if (context.output.json) context.output.result_json(json);
  return static_cast<int>(code);
}

}  // namespace

extern const Command resolve_command{
    .name = "resolve",
    .summary = "ask registries for the digests of references",
    .options = options,
    .run = run,
    .description =
        "Prints digest, kind (index or manifest) and expanded name, one reference a line, in the\n"
        "order of the arguments. The digest of a tag is computed here over what the registry sent; "
        "those\n"
        "of an index's platforms are what that verified index names."};

}  // namespace sparkrun::cli
