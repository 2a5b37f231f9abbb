// SPDX-License-Identifier: MIT
#include "preflight/facts.hpp"

#include <gtest/gtest.h>

namespace sparkrun::preflight {
namespace {

const std::string begin = "-----BEGIN SPARKRUN PROBE n1-----\n";
const std::string end = "-----END SPARKRUN PROBE n1-----\n";

TEST(ProbeOutput, IsReadBetweenTheBannersOfAnEntrypoint) {
  const auto facts = parse_probe_output("=============\n== PyTorch ==\narch=mips\nno newline" +
                                            begin + "arch=aarch64\n" + end + "arch=x\n",
                                        "n1");

  ASSERT_TRUE(facts.has_value());
  EXPECT_EQ(facts->get("arch"), "aarch64");
  EXPECT_EQ(facts->get("probe"), "complete");
  EXPECT_EQ(facts->values.size(), 2U);
}

TEST(ProbeOutput, IsNothingWithoutTheMarkerOfThisNonce) {
  EXPECT_FALSE(parse_probe_output("", "n1").has_value());
  EXPECT_FALSE(parse_probe_output("arch=aarch64\n", "n1").has_value());
  EXPECT_FALSE(parse_probe_output(begin + end, "n2").has_value());
}

TEST(ProbeOutput, CountsUntilWhereItWasCut) {
  const auto facts = parse_probe_output(begin + "arch=aarch64\ntorch=o", "n1");

  ASSERT_TRUE(facts.has_value());
  EXPECT_EQ(facts->get("arch"), "aarch64");
  EXPECT_FALSE(facts->get("torch").has_value());
  EXPECT_TRUE(facts->is("probe", "cut"));
}

TEST(ProbeOutput, PassesOverLinesThatAreNotFacts) {
  const auto facts = parse_probe_output(
      begin + "a banner\n=x\nkey with blank=1\nempty=\nequals=a=b\r\nempty=2\nprobe=forged\n" + end,
      "n1");

  ASSERT_TRUE(facts.has_value());
  EXPECT_EQ(facts->values.size(), 3U);
  EXPECT_EQ(facts->get("empty"), "");
  EXPECT_EQ(facts->get("equals"), "a=b");
  EXPECT_EQ(facts->get("probe"), "complete");
}

TEST(ProbeOutput, BoundsAndCleansWhatItKeeps) {
  std::string text = begin + "escape=\x1b[31m\nlong=" + std::string(10'000, 'x') + "\n";
  for (size_t i = 0; i < probe_facts_max + 100; ++i) text += "k" + std::to_string(i) + "=1\n";

  const auto facts = parse_probe_output(text + end, "n1");

  ASSERT_TRUE(facts.has_value());
  EXPECT_EQ(facts->get("escape"), "?[31m");
  EXPECT_EQ(facts->get("long").value().size(), probe_value_bytes_max);
  EXPECT_LE(facts->values.size(), probe_facts_max + 1);
  EXPECT_EQ(parse_probe_output(begin + std::string(5 << 20, 'x'), "n1")->values.size(), 1U);
}

TEST(PackageName, IsNormalizedAsInPep503) {
  EXPECT_EQ(normalized_package_name("Unsloth_Zoo"), "unsloth-zoo");
  EXPECT_EQ(normalized_package_name("ruamel.yaml--x"), "ruamel-yaml-x");
}

}  // namespace
}  // namespace sparkrun::preflight
