// SPDX-License-Identifier: MIT
#include "profile/schema.hpp"

#include "base/json_value.hpp"
#include "profile/options.hpp"
#include "sys/files.hpp"

#include <gtest/gtest.h>

namespace sparkrun::profile {
namespace {

TEST(ProfileSchema, IsTheFileInData) {
  const auto file = sys::read_file(sys::fs::path{SPARKRUN_SOURCE_DIR} / "data/profile.schema.json");

  EXPECT_EQ(file, to_json_text(profile_schema()))
      << "write it anew: build/dev/sparkrun profile schema >data/profile.schema.json";
}

TEST(ProfileSchema, HasEveryKeyOfTheOptionsTable) {
  const Json schema = profile_schema();

  const Json& container = member(member(member(schema, "properties"), "container"), "properties");
  for (const Option& option : options()) {
    EXPECT_EQ(container.contains(std::string{option.key}), !option.key.empty()) << option.flag;
  }
}

}  // namespace
}  // namespace sparkrun::profile
