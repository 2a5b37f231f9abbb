// SPDX-License-Identifier: MIT
#include "run/check.hpp"

#include "base/embedded.hpp"
#include "base/error.hpp"
#include "base/secret.hpp"
#include "base/text.hpp"
#include "engine/trouble.hpp"
#include "plan/argv.hpp"
#include "preflight/facts.hpp"
#include "run/passed_values.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sparkrun::run {
namespace {

// The probe bounds its own sections; this is for an engine or an entrypoint that hangs.
constexpr std::chrono::milliseconds probe_timeout{180'000};

struct ProbeOutcome {
  std::optional<preflight::ProbeFacts> facts;
  std::string note;  // why there are none
};

std::string last_lines(std::string_view text) {
  constexpr size_t length_max = 400;
  const std::string_view all = trim(text);
  return redact(all.size() > length_max ? all.substr(all.size() - length_max) : all);
}

// What ends the probe is told elsewhere; that it could not be cleaned up after must not take its
// place.
void remove_quietly(engine::Engine& engine, const std::string& name) {
  try {
    engine.remove(name);
  } catch (const Error&) {
    return;
  }
}

// What the engine itself said, as far as it can be told from the image's programs: exit 125 is its
// own (docker run, "Exit status"); otherwise its lines begin so.
//
// Programs of the image can do the same, so the values that they were given are taken out.
std::string engines_words(const sys::ProcessResult& result,
                          const std::vector<std::string>& values) {
  const std::string said = redact_values(result.err, values);
  if (result.exit == 125) return said;
  std::string words;
  for (const std::string_view line : split(said, '\n')) {
    const bool is_engines = line.starts_with("docker:") || line.starts_with("Error:");
    if (result.exit != 0 && is_engines) words.append(line).append("\n");
  }
  return words;
}

// One probe container, which never outlives this function.
ProbeOutcome probe(const Prepared& prepared, engine::Engine& engine,
                   const sys::Environment& environment, const std::string& nonce,
                   bool replaces_entrypoint) {
  const std::string name =
      "sparkrun-probe-" + to_lower(prepared.id.substr(prepared.id.size() - 10));
  std::vector<std::string> argv = plan::probe_argv(
      prepared.plan,
      {.name = name,
       .entrypoint = replaces_entrypoint ? std::optional<std::string>{"sh"} : std::nullopt});
  argv.push_back(nonce);
  const std::string script{embedded_file("src/preflight/probe.sh").value_or("")};
  sys::ProcessResult result;
  try {
    result = engine.run_captured(argv, script, probe_timeout);
  } catch (const Error&) {
    remove_quietly(engine, name);
    throw;
  }
  if (result.timed_out) remove_quietly(engine, name);
  if (auto facts = preflight::parse_probe_output(result.out, nonce)) return {std::move(facts), ""};
  const std::string words = engines_words(result, passed_values(prepared.plan, environment));
  if (engine::recognise(words)) {  // the job would meet the same
    throw engine::refusal(fmt::format("{} could not start a container of {}", engine.name(),
                                      prepared.plan.image.run_as),
                          words);
  }
  if (result.timed_out)
    return {{}, fmt::format("the probe did not end within {} s", probe_timeout.count() / 1000)};
  // What the image prints may be anything that it was given, so only the engine's words are quoted.
  return {{},
          fmt::format("the probe gave no facts (exit {}){}", result.exit,
                      words.empty() ? "" : ": " + last_lines(words))};
}

preflight::Subject subject_of(const Prepared& prepared) {
  preflight::Subject subject{.plan = &prepared.plan, .host = prepared.host};
  subject.engine = prepared.engine ? &*prepared.engine : nullptr;
  subject.engine_note = prepared.engine_note;
  return subject;
}

}  // namespace

bool is_wrapper(const std::vector<std::string>& entrypoint) {
  if (entrypoint.empty()) return true;
  const std::string& program = entrypoint.front();
  const std::string base = program.substr(program.rfind('/') + 1);
  const bool is_init =
      base == "tini" || base == "dumb-init" || base == "catatonit" || base == "docker-init";
  return is_init || base.find("entrypoint") != std::string::npos;
}

preflight::Report check(const Prepared& prepared, const engine::LocalImage& image,
                        engine::Engine& engine, sys::System& system,
                        const std::vector<std::string>& only) {
  const std::array<uint8_t, 10> random = system.clock.randomness();
  const std::string nonce = to_hex({reinterpret_cast<const char*>(random.data()), random.size()});
  const bool has_wrapper = is_wrapper(image.entrypoint);
  ProbeOutcome outcome = probe(prepared, engine, system.environment, nonce, !has_wrapper);
  if (!outcome.facts && has_wrapper && !image.entrypoint.empty()) {
    // It looked like a wrapper and was not one.
    ProbeOutcome again = probe(prepared, engine, system.environment, nonce, true);
    if (again.facts) outcome = std::move(again);
  }
  preflight::Subject subject = subject_of(prepared);
  subject.probe = outcome.facts ? &*outcome.facts : nullptr;
  subject.probe_note = outcome.note;
  return preflight::judge(subject, only);
}

preflight::Report check_before_pull(const Prepared& prepared) {
  std::vector<std::string> ids;
  for (const preflight::Check* check : preflight::checks()) {
    if (!check->needs_probe) ids.emplace_back(check->id);
  }
  return preflight::judge(subject_of(prepared), ids);
}

preflight::Report check_host(const sys::HostFacts& host, const engine::EngineFacts* engine,
                             const std::string& engine_note, const std::vector<std::string>& only) {
  return preflight::judge({.probe_note = "no image was looked at",
                           .engine = engine,
                           .engine_note = engine_note,
                           .host = host},
                          only);
}

}  // namespace sparkrun::run
