// SPDX-License-Identifier: MIT
#include "preflight/report.hpp"

#include "base/json_value.hpp"

#include <gtest/gtest.h>

namespace sparkrun::preflight {
namespace {

const Check first_check{.id = "G1", .is_blocking = true};
const Check second_check{.id = "G3", .is_blocking = false};

Report example_report() {
  return {.results = {{&first_check, passed("torch is fine")},
                      {&second_check, warned("little memory", "stop the server")}},
          .verdict = "ready-with-warnings"};
}

TEST(EnvReport, HasTheFormOfTheKnownReport) {
  sys::HostFacts host;
  host.memory_available_kib = 127'600'748;

  EXPECT_EQ(to_json_text(to_json(example_report(), host)), R"({
  "platform": "dgx-spark",
  "checks": {
    "G1": "pass",
    "G3": "warn: little memory"
  },
  "headroom_gb": 121,
  "verdict": "ready-with-warnings",
  "details": [
    {
      "id": "G1",
      "status": "pass",
      "blocking": true,
      "message": "torch is fine"
    },
    {
      "id": "G3",
      "status": "warn",
      "blocking": false,
      "message": "little memory",
      "fix": "stop the server"
    }
  ]
}
)");
}

TEST(EnvReport, SaysNullForUnknownMemory) {
  EXPECT_TRUE(member(to_json(example_report(), {}), "headroom_gb").is_null());
}

TEST(EnvReport, GivesTheTextsThatTheLedgerKeeps) {
  EXPECT_EQ(check_texts(example_report()),
            (std::map<std::string, std::string>{{"G1", "pass"}, {"G3", "warn: little memory"}}));
}

}  // namespace
}  // namespace sparkrun::preflight
