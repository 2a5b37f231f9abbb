// SPDX-License-Identifier: MIT
#include "profile/schema.hpp"

#include "base/json_value.hpp"
#include "profile/options.hpp"
#include "profile/reader.hpp"

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace sparkrun::profile {
namespace {

Json text(std::string_view description) {
  return {{"type", "string"}, {"description", description}};
}

Json texts(std::string_view description) {
  return {{"type", "array"}, {"items", {{"type", "string"}}}, {"description", description}};
}

Json flag(std::string_view description) {
  return {{"type", "boolean"}, {"description", description}};
}

Json choice(std::initializer_list<std::string_view> values, std::string_view description) {
  Json json{{"enum", Json::array()}, {"description", description}};
  for (const std::string_view value : values) json["enum"].push_back(value);
  return json;
}

Json table(Json properties, std::string_view description) {
  return {{"type", "object"},
          {"additionalProperties", false},
          {"description", description},
          {"properties", std::move(properties)}};
}

Json table_of_texts(std::string_view description) {
  return {{"type", "object"},
          {"additionalProperties", {{"type", "string"}}},
          {"description", description}};
}

Json schema_of(const Option& option) {
  const std::string description = fmt::format("docker run {}", option.flag);
  switch (option.arity) {
    case Arity::flag:
      return flag(description);
    case Arity::list:
      return texts(description);
    case Arity::table:
      return {{"type", "object"},
              {"additionalProperties", {{"type", Json::array({"string", "integer"})}}},
              {"description", description}};
    case Arity::value:
      break;
  }
  Json json = text(description);
  if (option.kind == ValueKind::number) json["type"] = Json::array({"string", "number"});
  return json;
}

Json container() {
  Json properties = Json::object();
  for (const Option& option : options()) {
    if (!option.key.empty()) properties[std::string{option.key}] = schema_of(option);
  }
  properties["extra_args"] = texts("options for the engine that have no key here");
  return table(std::move(properties), "one key per flag of docker run");
}

Json mount() {
  Json item =
      table({{"source", text("folder, file or volume; relative to the project's root; ~ and "
                             "${VAR} expand")},
             {"target", text("absolute path in the container")},
             {"create", flag("make a missing source, as the caller")},
             {"read_only", flag("mount it read-only")},
             {"options", texts("what else -v takes behind the target: z, rshared, ..")}},
            "a mount");
  item["required"] = Json::array({"source", "target"});
  return {{"type", "array"}, {"items", std::move(item)}};
}

Json gpu() {
  return table({{"access", choice({"auto", "runtime+gpus", "runtime", "gpus", "cdi", "none"},
                                  "how the job reaches the GPU")},
                {"devices", text("as --gpus takes it: all, device=0, 2")}},
               "GPU access");
}

Json preflight() {
  return table(
      {{"min_available_gib", {{"type", "integer"}, {"minimum", 0}}},
       {"packages", table_of_texts("what must be in the image: transformers = \"==5.13.1\"")}},
      "what the checks should expect");
}

Json readiness() {
  return table(
      {{"http", text("URL on this machine that answers once the job is ready")},
       {"log", text("regular expression (PCRE2) for a line that the job prints once it is ready")},
       {"timeout", text("how long that may take: 90s, 20m (the default), 2h")}},
      "how the job shows that it is ready; one of http and log");
}

}  // namespace

Json profile_schema() {
  Json properties{{"version", {{"const", profile_version}}},
                  {"summary", text("one line for `profile ls`")},
                  {"extends", text("a profile to start from")},
                  {"purpose", choice({"training", "inference", "tool"}, "what the job is for")},
                  {"image", text("as docker takes it")},
                  {"fallback", texts("tag patterns that may stand in for the image's tag")},
                  {"platforms", texts("what is locked; default linux/arm64")},
                  {"engine", choice({"docker", "podman"}, "where it has to be this one")},
                  {"command", texts("words of the container's command")},
                  {"env_from_host", texts("variables passed by name; NAME? may be unset")},
                  {"gpu", gpu()},
                  {"container", container()},
                  {"mount", mount()},
                  {"env", table_of_texts("values that are written down")},
                  {"env_from_file", table_of_texts("variables whose values are in files")},
                  {"preflight", preflight()},
                  {"ready", readiness()}};
  Json schema{{"$schema", "http://json-schema.org/draft-07/schema#"},
              {"title", "sparkrun profile"}};
  schema.update(table(std::move(properties), "profiles/NAME.toml"));
  schema["required"] = Json::array({"version"});
  return schema;
}

}  // namespace sparkrun::profile
