// SPDX-License-Identifier: MIT
#include "audit/record.hpp"

#include "base/json_value.hpp"
#include "base/secret.hpp"

namespace sparkrun::audit {
namespace {

void set_text(Json& object, const char* key, const std::string& value) {
  if (!value.empty()) object[key] = value;
}

Json image_of(const plan::PinnedImage& image) {
  Json json = {{"reference", redact(image.reference)}};
  set_text(json, "index", image.index);
  set_text(json, "manifest", image.manifest);
  set_text(json, "config", image.config);
  set_text(json, "chain", image.chain);
  set_text(json, "platform", image.platform);
  set_text(json, "pin", image.pin);
  set_text(json, "pin_note", image.pin_note);
  set_text(json, "taken", redact(image.taken));
  set_text(json, "taken_because", image.taken_because);
  return json;
}

Json profile_of(const profile::Profile& profile) {
  Json json = {{"name", profile.name}, {"origin", profile::to_string(profile.origin)}};
  set_text(json, "sha256", profile.sha256);
  return json;
}

// Names and where they come from; never a value.
Json env_of(const plan::RunPlan& plan) {
  Json json = Json::array();
  for (const auto& [name, value] : plan.env) json.push_back({{"name", name}, {"from", "profile"}});
  for (const std::string& name : plan.host_variables) {
    json.push_back({{"name", name}, {"from", "host"}});
  }
  for (const auto& [name, path] : plan.file_variables) {
    json.push_back({{"name", name}, {"from", "file"}, {"path", path}});
  }
  return json;
}

Json mounts_of(const plan::RunPlan& plan) {
  Json json = Json::array();
  for (const plan::ResolvedMount& mount : plan.mounts) {
    json.push_back(
        {{"source", mount.source}, {"target", mount.target}, {"read_only", mount.read_only}});
  }
  return json;
}

Json host_of(const sys::HostFacts& host) {
  Json json = {{"id", host.id}};
  set_text(json, "name", host.hostname);
  set_text(json, "boot", host.boot_id);
  set_text(json, "os", host.os);
  set_text(json, "kernel", host.kernel);
  set_text(json, "architecture", host.architecture);
  set_text(json, "driver", host.driver);
  if (host.memory_total_kib >= 0) json["memory_total_kib"] = host.memory_total_kib;
  if (host.memory_available_kib >= 0) json["memory_available_kib"] = host.memory_available_kib;
  return json;
}

Json engine_of(const engine::EngineFacts& engine, const plan::RunPlan* plan) {
  Json json = {{"name", engine.name}};
  set_text(json, "version", engine.version);
  set_text(json, "api", engine.api_version);
  set_text(json, "architecture", engine.architecture);
  set_text(json, "store", engine.image_store);
  if (plan != nullptr) json["gpu_access"] = profile::to_string(plan->gpu.access);
  json["rootless"] = engine.is_rootless;
  json["remote"] = engine.is_remote;
  return json;
}

void add_argv(Json& record, const std::vector<std::string>& argv) {
  if (argv.empty()) return;
  const std::vector<std::string> clean = scrub(argv);
  int changed = 0;
  for (size_t at = 0; at < argv.size(); ++at) changed += clean[at] == argv[at] ? 0 : 1;
  record["argv"] = clean;
  if (changed > 0) record["redacted"] = changed;
}

void add_context(Json& record, const RunContext& context) {
  if (context.plan != nullptr) {
    record["image"] = image_of(context.plan->image);
    record["profile"] = profile_of(context.plan->profile);
  } else if (!context.profile.empty()) {
    record["profile"] = {{"name", context.profile}};
  }
  if (context.lock) {
    record["lock"] = {{"path", context.lock->path}, {"sha256", context.lock->sha256}};
  }
  if (context.git) {
    record["git"] = {{"commit", context.git->commit}, {"dirty", context.git->is_dirty}};
  }
  add_argv(record, context.argv);
  if (context.plan != nullptr) {
    record["env"] = env_of(*context.plan);
    record["mounts"] = mounts_of(*context.plan);
  }
  if (context.host != nullptr) record["host"] = host_of(*context.host);
  if (context.engine != nullptr) record["engine"] = engine_of(*context.engine, context.plan);
  record["who"] = {{"uid", context.uid}};
  if (context.host != nullptr) set_text(record["who"], "user", context.host->user);
  record["tool"] = {{"version", context.tool_version}};
  if (context.preflight) {
    record["preflight"] = {{"verdict", context.preflight->verdict},
                           {"checks", Json(context.preflight->checks)}};
  }
}

}  // namespace

std::vector<std::string> scrub(const std::vector<std::string>& argv) { return redact_words(argv); }

Json run_start(const std::string& run, const RunContext& context) {
  Json record = {{"event", "run.start"}, {"run", run}};
  add_context(record, context);
  return record;
}

Json run_bound(const std::string& run, const BoundContainer& bound) {
  Json observed = {{"id", bound.image}, {"repo_digests", bound.repo_digests}};
  set_text(observed, "matches", bound.matches);
  return {{"event", "run.bound"},
          {"run", run},
          {"container", bound.container},
          {"observed", std::move(observed)}};
}

Json run_end(const std::string& run, const RunEnd& end) {
  const bool is_signal = end.exit > 128 && end.exit <= 128 + 64;  // signal(7): 64 is the last one
  return {{"event", "run.end"},       {"run", run},
          {"exit", end.exit},         {"signal", is_signal ? Json(end.exit - 128) : Json()},
          {"oom", end.is_oom_killed}, {"duration_ms", end.duration.count()}};
}

Json run_restart(const std::string& run, long long count) {
  return {{"event", "run.restart"}, {"run", run}, {"count", count}};
}

Json run_ready(const std::string& run, std::chrono::milliseconds after) {
  return {{"event", "run.ready"}, {"run", run}, {"after_ms", after.count()}};
}

Json run_exec(const std::string& run, const std::vector<std::string>& argv) {
  return {{"event", "run.exec"}, {"run", run}, {"argv", scrub(argv)}};
}

Json run_refused(const std::string& run, const RunContext& context, const Refusal& refusal) {
  Json record = {{"event", "run.refused"},
                 {"run", run},
                 {"error", refusal.error},
                 {"message", redact(refusal.message)}};
  for (const std::string& problem : refusal.problems) record["problems"].push_back(redact(problem));
  add_context(record, context);
  return record;
}

}  // namespace sparkrun::audit
