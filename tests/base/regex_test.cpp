// SPDX-License-Identifier: MIT
#include "base/regex.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace sparkrun {
namespace {

TEST(Regex, FitsAnywhere) {
  const Regex regex{R"(Uvicorn running on http://\S+:\d+)"};
  EXPECT_TRUE(regex.is_in("INFO:     Uvicorn running on http://0.0.0.0:8000 (Press CTRL+C)"));
  EXPECT_FALSE(regex.is_in("INFO:     Uvicorn running on nothing"));
  EXPECT_TRUE(Regex{"^$"}.is_in(""));
  EXPECT_TRUE(Regex{"bereit"}.is_in("\xff bereit"));  // need not be UTF-8
}

TEST(Regex, SaysWhatIsWrong) {
  for (const std::string pattern : {"(", "[a", "*a", "a{2,1}"})
    EXPECT_THROW(Regex{pattern}, std::invalid_argument) << pattern;
  EXPECT_THROW(Regex{std::string(1001, 'a')}, std::invalid_argument);
  EXPECT_THROW(Regex{"((((a{1,65000}){1,65000}){1,65000}){1,65000})"}, std::invalid_argument);
}

// Without a limit this would take longer than anybody lives.
TEST(Regex, GivesUpWhatWouldCostTooMuch) {
  EXPECT_FALSE(Regex{"(a+)+$"}.is_in(std::string(60, 'a') + "b"));
}

}  // namespace
}  // namespace sparkrun
