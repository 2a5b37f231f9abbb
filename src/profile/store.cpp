// SPDX-License-Identifier: MIT
#include "profile/store.hpp"

#include "base/digest.hpp"
#include "base/embedded.hpp"
#include "base/error.hpp"
#include "base/suggest.hpp"
#include "base/text.hpp"
#include "oci/reference.hpp"
#include "profile/reader.hpp"
#include "sys/files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

namespace sparkrun::profile {
namespace {

constexpr std::array origins = {Origin::project, Origin::user, Origin::system, Origin::built_in};
constexpr size_t extends_files_max = 8;
constexpr std::string_view embedded_folder = "profiles/";
constexpr std::string_view suffix = ".toml";

// A folder that may not be looked into is no project of ours.
std::vector<std::string> list_if_readable(const fs::path& folder) {
  try {
    return sys::list_files(folder);
  } catch (const Error&) {
    return {};
  }
}

bool has_lock(const fs::path& folder) {
  return std::ranges::any_of(list_if_readable(folder / "lockfiles"),
                             [](const std::string& name) { return name.ends_with(".lock"); });
}

bool holds_profile(const fs::path& file) {
  try {
    const auto text = sys::read_file(file);
    return text && looks_like_profile(*text);
  } catch (const Error&) {
    return false;  // one that cannot be read makes no folder a project
  }
}

bool has_profile(const fs::path& folder) {
  const auto names = list_if_readable(folder / "profiles");
  return std::ranges::any_of(names, [&](const std::string& name) {
    return name.ends_with(suffix) && holds_profile(folder / "profiles" / name);
  });
}

fs::path real(const fs::path& path) {
  std::error_code failure;
  const fs::path canonical = fs::weakly_canonical(path, failure);
  return failure ? path : canonical;
}

void set_source(TomlNode& node, size_t source) {
  node.source = source;
  for (TomlNode& item : node.items) set_source(item, source);
  for (auto& [key, value] : node.entries) set_source(value, source);
}

// The line starts with `key`, blanks, `=`.
std::optional<std::string_view> assigned(std::string_view line, std::string_view key) {
  if (!line.starts_with(key)) return std::nullopt;
  const std::string_view rest = trim(line.substr(key.size()));
  return rest.starts_with('=') ? std::optional{trim(rest.substr(1))} : std::nullopt;
}

// A line that hardly any other program's file has; one that is broken elsewhere still counts.
bool is_own_line(std::string_view line) {
  constexpr std::array keys = std::to_array<std::string_view>(
      {"image", "extends", "env_from_host", "platforms", "fallback", "purpose"});
  constexpr std::array tables =
      std::to_array<std::string_view>({"[gpu]", "[container]", "[container.ulimits]", "[[mount]]"});
  return std::ranges::any_of(keys, [&](auto key) { return assigned(line, key).has_value(); }) ||
         std::ranges::find(tables, trim(line)) != tables.end();
}

// `nvcr.io/nvidia/pytorch:25.09-py3` -> `pytorch`: for the names of containers.
std::string short_name(const oci::Reference& reference) {
  const std::string& repository = reference.repository();
  std::string name = repository.substr(repository.rfind('/') + 1);
  std::ranges::replace(name, '.', '-');
  name = name.substr(0, 63);
  return is_profile_name(name) ? name : "image";
}

}  // namespace

Project find_project(const sys::Environment& environment,
                     const std::optional<fs::path>& directory) {
  const fs::path& here = environment.working_directory;
  if (here.empty()) throw Error{"file.unreadable", "the working directory does not exist any more"};
  if (directory) {
    const fs::path root = real(here / *directory);
    if (!sys::is_folder(root)) {
      throw Error{"usage.bad_value",
                  fmt::format("-C {}: there is no such folder", directory->string())};
    }
    return {.root = root, .is_project = true};
  }
  const fs::path home = real(environment.home());
  for (fs::path folder = here; !folder.empty() && real(folder) != home;
       folder = folder.parent_path()) {
    if (has_lock(folder) || has_profile(folder)) return {.root = folder, .is_project = true};
    if (sys::path_exists(folder / ".git")) return {.root = folder, .is_project = true};
    if (folder == folder.parent_path()) break;
  }
  return {.root = here, .is_project = false};
}

bool looks_like_profile(std::string_view text) {
  bool has_version = false, has_own_key = false;
  for (const std::string_view line : split(text, '\n')) {
    const auto version = assigned(line, "version");
    has_version |=
        version && !version->empty() && version->front() >= '0' && version->front() <= '9';
    has_own_key |= is_own_line(line);
  }
  return has_version && has_own_key;
}

Store::Store(Project project, const sys::Environment& environment, fs::path system_directory)
    : project_(std::move(project)),
      config_directory_(environment.config_directory()),
      system_directory_(std::move(system_directory)) {}

std::string Store::Source::display_name() const {
  return path.empty() ? fmt::format("built-in profile {}", name) : path.string();
}

std::optional<fs::path> Store::folder(Origin origin) const {
  switch (origin) {
    case Origin::project:
      return project_.is_project ? std::optional{project_.root / "profiles"} : std::nullopt;
    case Origin::user:
      return config_directory_ / "profiles";
    case Origin::system:
      return system_directory_;
    case Origin::built_in:
    case Origin::image:
      break;
  }
  return std::nullopt;
}

std::optional<Store::Source> Store::find_at(std::string_view name, Origin origin) const {
  Source source{.name = std::string{name}, .origin = origin};
  const std::string file = fmt::format("{}{}", name, suffix);
  if (origin == Origin::built_in) {
    const auto text = embedded_file(fmt::format("{}{}", embedded_folder, file));
    if (!text) return std::nullopt;
    source.text = *text;
    return source;
  }
  const auto where = folder(origin);
  if (!where) return std::nullopt;
  source.path = *where / file;
  auto text = sys::read_file(source.path);
  if (!text) return std::nullopt;
  source.text = std::move(*text);
  return source;
}

std::optional<Store::Source> Store::find_from(std::string_view name, Origin first) const {
  for (const Origin origin : origins) {
    if (origin < first) continue;
    if (auto source = find_at(name, origin)) return source;
  }
  return std::nullopt;
}

std::vector<std::string> Store::names_at(Origin origin) const {
  std::vector<std::string> names;
  const auto add = [&](std::string_view file) {
    if (!file.ends_with(suffix)) return;
    const std::string_view name = file.substr(0, file.size() - suffix.size());
    if (is_profile_name(name)) names.emplace_back(name);
  };
  if (origin == Origin::built_in) {
    for (const EmbeddedFile& file : embedded_files()) {
      if (file.path.starts_with(embedded_folder)) add(file.path.substr(embedded_folder.size()));
    }
  } else if (const auto where = folder(origin)) {
    for (const std::string& file : sys::list_files(*where)) add(file);
  }
  return names;
}

Profile Store::load(std::string_view name) const { return load_with_origins(name).profile; }

LoadedProfile Store::load_with_origins(std::string_view name) const {
  // A name that is none must not become a path: `../../etc/x`.
  auto source = is_profile_name(name) ? find_from(name, Origin::project) : std::nullopt;
  if (!source) fail_unknown(name, "");
  return resolve(std::move(*source));
}

LoadedProfile Store::resolve(Source source) const {
  const Source own = source;
  TomlNode root = parse_profile(own.text, own.display_name());
  std::string texts = own.text;
  std::vector<std::string> chain = {own.display_name()};
  std::set<std::pair<std::string, Origin>> seen = {{own.name, own.origin}};

  for (auto base = extended_name(root); base;) {
    const bool is_own_name = *base == source.name;
    const auto next = static_cast<Origin>(static_cast<int>(source.origin) + (is_own_name ? 1 : 0));
    auto found = find_from(*base, next);
    if (!found) fail_unknown(*base, source.display_name());
    chain.push_back(found->display_name());
    if (!seen.emplace(found->name, found->origin).second || chain.size() > extends_files_max) {
      throw Error{"profile.cycle",
                  chain.size() > extends_files_max
                      ? fmt::format("more than {} profiles extend one another", extends_files_max)
                      : fmt::format("profile `{}` extends itself", own.name),
                  {{"profile", own.name}},
                  chain};
    }
    TomlNode below = parse_profile(found->text, found->display_name());
    set_source(below, chain.size() - 1);
    base = extended_name(below);
    root = merge_profiles(below, root);
    texts.append(1, '\0').append(found->text);
    source = std::move(*found);
  }

  Profile profile = build_profile(root, own.display_name());
  profile.name = own.name;
  profile.origin = own.origin;
  profile.path = own.path;
  profile.sha256 = sha256_hex(texts);
  return {.profile = std::move(profile), .root = std::move(root), .sources = std::move(chain)};
}

ListedProfile Store::describe(const std::string& name, Origin origin) const {
  ListedProfile listed{.name = name, .origin = origin};
  if (const auto where = folder(origin)) listed.path = *where / (name + std::string{suffix});
  try {
    auto source = find_at(name, origin);
    if (!source) return listed;
    const Profile profile = resolve(std::move(*source)).profile;
    listed.summary = profile.summary;
    listed.image = profile.image;
  } catch (const Error& error) {
    listed.problem = error.problems().empty() ? error.what() : error.problems().front();
  }
  return listed;
}

std::vector<ListedProfile> Store::list() const {
  std::vector<ListedProfile> all;
  std::set<std::string> seen;
  for (const Origin origin : origins) {
    for (const std::string& name : names_at(origin)) {
      ListedProfile listed = describe(name, origin);
      listed.is_shadowed = !seen.insert(name).second;
      all.push_back(std::move(listed));
    }
  }
  return all;
}

Profile Store::from_image(std::string_view reference_text) const {
  const oci::Reference reference = oci::Reference::parse(reference_text);
  const auto source = find_at("pytorch", Origin::built_in);
  if (!source) throw Error{"bug", "the built-in profile pytorch is missing"};
  const Profile model = resolve(*source).profile;
  return {.name = short_name(reference),
          .origin = Origin::image,
          .sha256 = model.sha256,
          .image = std::string{reference_text},
          .platforms = {},
          .gpu = model.gpu,
          .container = model.container};
}

std::optional<fs::path> Store::lock_path(const Profile& profile) const {
  const std::string file = profile.name + ".lock";
  switch (profile.origin) {
    case Origin::project:
      return project_.root / "lockfiles" / file;
    case Origin::user:
    case Origin::system:
    case Origin::built_in:
      return config_directory_ / "lockfiles" / file;
    case Origin::image:
      break;
  }
  return std::nullopt;
}

void Store::fail_unknown(std::string_view name, const std::string& extended_by) const {
  std::vector<std::string> known, places;
  for (const Origin origin : origins) {
    for (std::string& other : names_at(origin)) known.push_back(std::move(other));
    if (const auto where = folder(origin)) places.push_back(where->string());
  }
  places.emplace_back("the built-in ones");
  const fs::path own = project_.root / "profiles" / fmt::format("{}{}", name, suffix);
  if (!project_.is_project && is_profile_name(name) && sys::path_exists(own) &&
      !holds_profile(own)) {
    throw Error{"profile.invalid",
                fmt::format("{} does not look like a profile: `version = {}` or a key such as "
                            "`image` is missing",
                            own.string(), profile_version),
                {{"path", own.string()}}};
  }
  const std::string by =
      extended_by.empty() ? "" : fmt::format(", which {} extends", printable(extended_by));
  throw Error{"profile.unknown",
              fmt::format("there is no profile `{}`{}{}; looked in {}", printable(name), by,
                          did_you_mean(name, known), join(places, ", ")),
              {{"profile", std::string{name}}}};
}

}  // namespace sparkrun::profile
