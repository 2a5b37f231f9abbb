// SPDX-License-Identifier: MIT
#include "audit/ledger.hpp"
#include "base/error.hpp"
#include "base/json_value.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "run/recorder.hpp"

#include <fmt/format.h>

#include <array>

namespace sparkrun::cli {
namespace {

constexpr auto options = std::to_array<Option>({
    {"--anchor", "", Takes::value, "SEQ:HASH",
     "a head noted elsewhere that the ledger must still contain"},
});

// The ledger of the anchor is this user's own on this host; without one every ledger is checked.
std::vector<audit::Ledger> ledgers_to_check(Context& context, bool has_anchor) {
  const sys::Environment& environment = context.system.environment;
  if (!has_anchor)
    return audit::find_ledgers(run::audit_root(context.settings, environment),
                               context.system.clock);
  const std::string host = sys::read_host_facts(environment).id;
  return {
      audit::Ledger{run::ledger_folder(context.settings, environment, host), context.system.clock}};
}

int run(const Arguments& arguments, Context& context) {
  std::optional<audit::Head> anchor;
  if (const auto typed = arguments.value("--anchor")) {
    anchor = audit::Head::parse(*typed);
    if (!anchor) {
      throw Error{"usage.bad_value",
                  fmt::format("`{}` is not SEQ:HASH", printable(*typed)),
                  {{"command", "audit verify"}}};
    }
  }
  Json json = Json::array();
  std::vector<std::string> problems;
  for (const audit::Ledger& ledger : ledgers_to_check(context, anchor.has_value())) {
    const audit::Verification result = ledger.verify(anchor);
    const std::string head = result.head ? result.head->to_string() : "";
    std::vector<std::string> faults;
    for (const audit::Fault& fault : result.faults) {
      faults.push_back(fmt::format("{}:{}: {}", (ledger.folder() / fault.place.file).string(),
                                   fault.place.line, fault.what));
    }
    json.push_back({{"ledger", ledger.folder().string()},
                    {"records", result.records},
                    {"head", head},
                    {"faults", faults}});
    if (!context.output.json) {
      context.output.result(fmt::format("{}: {} records, head {}, {}\n", ledger.folder().string(),
                                        result.records, head.empty() ? "(none)" : head,
                                        faults.empty() ? "intact" : "BROKEN"));
      if (result.has_torn_tail)
        context.output.note("the last line is not whole: a crash, or it is being written now");
    }
    problems.insert(problems.end(), faults.begin(), faults.end());
  }
  if (context.output.json) context.output.result_json(json);
  if (!problems.empty())
    throw Error{"ledger.broken", "the chain of the ledger is broken", {}, problems};
  return 0;
}

}  // namespace

extern const Command audit_verify_command{
    .name = "audit verify",
    .summary = "check the chain of the ledger, record by record",
    .options = options,
    .run = run};

}  // namespace sparkrun::cli
