// SPDX-License-Identifier: MIT
#include "profile/import/mounts.hpp"

#include "base/csv.hpp"
#include "base/text.hpp"
#include "profile/values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

namespace sparkrun::profile {
namespace {

// Could be a path that lacks its `./`.
bool is_bare_path(std::string_view source) {
  return std::ranges::all_of(source, [](char c) {
    const bool is_letter =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    return is_letter || static_cast<unsigned char>(c) >= 0x80 ||
           std::string_view{"_-./ @+,"}.find(c) != std::string_view::npos;
  });
}

bool has_control(std::string_view text) {
  return std::ranges::any_of(
      text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

void pass_with_warning(Draft& draft, const Word& word, std::string_view why) {
  draft.warn(fmt::format("`{}`: {}; kept as it is written", shown_word(word), why));
  draft.pass_through(word, draft.plain(shown_word(word), *word.value));
}

bool begins_path(std::string_view source) {
  return source.starts_with('/') || source.starts_with('.') || has_expansion(source.substr(0, 1));
}

// `$NAME-data`, `data-$NAME`: the value says whether docker takes it for a path. `$DATA/x` is one.
bool depends_on_variable(std::string_view source) {
  if (!has_expansion(source) || source.starts_with('/') || source.starts_with('.')) return false;
  std::string plain = replace_expansions(source, [](const Expansion&) { return "\n"; });
  return !plain.starts_with('\n') || (plain.size() > 1 && plain[1] != '/');
}

// Fills in the options; false for one that a profile has no word for.
bool read_options(std::string_view text, Mount& mount) {
  for (const std::string_view option : split(text, ',')) {
    if (option == "ro")
      mount.read_only = true;
    else if (option.find_first_of(": ") != std::string_view::npos || option == "readonly")
      return false;
    else if (!option.empty() && option != "rw")
      mount.options.emplace_back(option);
  }
  return true;
}

void add(Draft& draft, Mount mount) {
  const bool is_taken = std::ranges::find(draft.profile.mounts, mount.target, &Mount::target) !=
                        draft.profile.mounts.end();
  if (is_taken) {
    draft.warn(fmt::format("{} is mounted twice, which docker refuses; the last one counts here",
                           shown(mount.target)));
  }
  draft.profile.mounts.push_back(std::move(mount));
}

bool is_true(std::string_view text) {
  constexpr std::array values =
      std::to_array<std::string_view>({"", "1", "t", "T", "true", "TRUE", "True"});
  return std::ranges::find(values, text) != values.end();
}

struct MountFields {
  std::string type = "volume";
  std::string source;
  Mount mount;
};

// Nothing where there is more than [[mount]] has keys for.
std::optional<MountFields> read_mount_fields(const std::vector<std::string>& fields) {
  MountFields result;
  for (const std::string& field : fields) {
    const auto [written_key, value] = split_once(field, '=');
    const std::string key = to_lower(written_key);
    if (key == "type")
      result.type = to_lower(value);
    else if (key == "source" || key == "src")
      result.source = value;
    else if (key == "target" || key == "dst" || key == "destination")
      result.mount.target = value;
    else if (key == "readonly" || key == "ro")
      result.mount.read_only = is_true(value);
    else if (key == "bind-propagation" && !value.empty())
      result.mount.options = {std::string{value}};
    else
      return std::nullopt;
  }
  return result;
}

bool is_expressible(const MountFields& fields) {
  const bool is_bind = fields.type == "bind" && begins_path(fields.source);
  const bool is_volume =
      fields.type == "volume" && is_volume_name(fields.source) && fields.mount.options.empty();
  // A mount with options is written as -v, where a colon would begin another part.
  const bool has_room = fields.mount.options.empty() ||
                        (fields.source + fields.mount.target).find(':') == std::string::npos;
  return (is_bind || is_volume) && has_room && fields.mount.target.starts_with('/') &&
         !has_control(fields.source + fields.mount.target);
}

}  // namespace

void import_volume(Draft& draft, const Word& word) {
  const std::string shown_as = shown_word(word);
  const std::string value = draft.settle(shown_as, *word.value);
  std::vector<std::string_view> parts = split(value, ':');
  if (parts.size() == 1) {
    if (value.starts_with('/')) return draft.pass_through(word, draft.plain(shown_as, value));
    return pass_with_warning(draft, word,
                             "docker takes it for the folder of a volume, and refuses "
                             "one that is not absolute");
  }
  std::string source{parts[0]};
  Mount mount{.source = "", .target = draft.plain(shown_as, parts[1])};
  if (parts.size() > 3 || source.empty() || !mount.target.starts_with('/') ||
      (parts.size() == 3 && !read_options(parts[2], mount)) || has_control(value)) {
    return pass_with_warning(draft, word, "docker does not take this for SOURCE:TARGET[:OPTIONS]");
  }
  if (is_volume_name(source)) {
    mount.source = source;
    return add(draft, std::move(mount));
  }
  if (depends_on_variable(source)) {
    refuse_word(shown_as, "whether it is a folder or a volume depends on the variable",
                "write `./` or `/` before it, or the value");
  }
  if (!begins_path(source) && is_bare_path(source)) {
    draft.warn(
        fmt::format("`{}`: docker refuses a source that is neither absolute nor begins with "
                    "`./` nor names a volume; imported as `./{}`",
                    shown_as, shown(source)));
    source = "./" + source;
  }
  if (!begins_path(source)) {
    return pass_with_warning(draft, word,
                             "docker expands nothing in it, and refuses such a source");
  }
  const auto path = draft.path(shown_as, source);
  if (!path) {
    return pass_with_warning(draft, word,
                             "docker expands nothing in it, but a mount of a profile "
                             "would");
  }
  mount.source = *path;
  add(draft, std::move(mount));
}

void import_mount(Draft& draft, const Word& word) {
  const std::string shown_as = shown_word(word);
  const std::string value = draft.settle(shown_as, *word.value);
  const auto fields = parse_csv_record(value);
  if (!fields) return pass_with_warning(draft, word, "docker cannot read it as CSV");
  auto read = read_mount_fields(*fields);
  const auto pass = [&] { draft.pass_through(word, draft.plain(shown_as, value)); };
  if (!read || !is_expressible(*read)) return pass();
  read->mount.target = draft.plain(shown_as, read->mount.target);
  if (read->type == "volume") {
    read->mount.source = read->source;
    return add(draft, std::move(read->mount));
  }
  const auto path = draft.path(shown_as, read->source);
  if (!path) return pass();
  read->mount.source = *path;
  add(draft, std::move(read->mount));
}

}  // namespace sparkrun::profile
