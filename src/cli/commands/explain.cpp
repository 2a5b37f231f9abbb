// SPDX-License-Identifier: MIT
#include "base/error.hpp"
#include "base/json_value.hpp"
#include "base/suggest.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "plan/trust.hpp"
#include "preflight/check.hpp"

#include <fmt/format.h>

#include <array>

namespace sparkrun::cli {
namespace {

constexpr auto options = std::to_array<Option>({
    {"WHAT", "", Takes::value, "", "a check (G1), an error id (lock.stale), or `trust`",
     Values::explanation},
});

std::vector<std::string> topics() {
  std::vector<std::string> names = {"trust"};
  for (const preflight::Check* check : preflight::checks()) names.emplace_back(check->id);
  for (const ErrorKind& kind : error_kinds()) names.emplace_back(kind.id);
  return names;
}

std::string trust_text() {
  std::string text =
      "A profile from a project folder may not use these silently. Allow one with `--allow NAME`, "
      "or\n"
      "under `allow` in your own config:\n\n";
  for (const plan::TrustName& row : plan::trust_names())
    text += fmt::format("  {:<16}{}\n", row.name, row.meaning);
  return text;
}

std::string check_text(const preflight::Check& check) {
  std::string text = fmt::format("{}: {}\n", check.id, check.title);
  const auto paragraph = [&](std::string_view heading, std::string_view body) {
    if (!body.empty()) text += fmt::format("\n{}\n  {}\n", heading, body);
  };
  paragraph("Symptom", check.symptom);
  paragraph("Cause", check.cause);
  paragraph("What to do", check.remedy);
  paragraph("Sources", check.sources);
  paragraph("Last verified", check.last_verified);
  paragraph("Blocks a run", check.is_blocking ? "yes, when it fails" : "no");
  return text;
}

std::string error_text(const ErrorKind& kind) {
  std::string text = fmt::format("{}\n\n{}\n\n", kind.id, kind.explanation);
  const std::string hint = Error{kind.id, ""}.hint();
  const bool is_placeholder = kind.hint.starts_with('{') && kind.hint.ends_with('}');
  if (!hint.empty() && !is_placeholder) text += fmt::format("What to do: {}\n", hint);
  const std::string_view moved =
      kind.exit_code == ExitCode::interrupted ? "" : " (a real `run` adds 100)";
  return text + fmt::format("Exit code: {}{}\nWorth a retry: {}\n",
                            static_cast<int>(kind.exit_code), moved, kind.retry ? "yes" : "no");
}

int run(const Arguments& arguments, Context& context) {
  const auto topic = arguments.value("WHAT");
  if (!topic) {
    if (context.output.json)
      context.output.result_json(Json(topics()));
    else
      for (const std::string& name : topics()) context.output.result(name + "\n");
    return 0;
  }
  std::string text;
  if (*topic == "trust")
    text = trust_text();
  else if (const preflight::Check* check = preflight::find_check(*topic))
    text = check_text(*check);
  else if (const ErrorKind* kind = find_error_kind(*topic))
    text = error_text(*kind);
  else {
    throw Error{"explain.unknown", fmt::format("nothing is known of `{}`{}", printable(*topic),
                                               did_you_mean(*topic, topics()))};
  }
  context.output.result(Json{{"id", *topic}, {"text", text}}, text);
  return 0;
}

}  // namespace

extern const Command explain_command{.name = "explain",
                                     .summary = "explain a check, an error id or the trust names",
                                     .options = options,
                                     .run = run};

}  // namespace sparkrun::cli
