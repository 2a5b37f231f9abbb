// SPDX-License-Identifier: MIT
#pragma once

#include "base/error.hpp"
#include "sys/http.hpp"

#include <string>
#include <string_view>

namespace sparkrun::oci {

// Who was asked for what; `what` is in the words of a message ("nvidia/pytorch:25.09-py3").
struct Asked {
  std::string registry;
  std::string what;
};

// An answer that is not 200, or none at all, as an Error of the `registry.` family.
// `what` of a fault is the host that has it.
Error fault_error(const sys::HttpResponse& response, const Asked& asked);
Error status_error(const sys::HttpResponse& response, const Asked& asked);

// What the server says about it, ready to stand at the end of a message: ` (HTTP 404,
// MANIFEST_UNKNOWN: manifest unknown)`. Foreign text: bounded, and no control characters.
std::string quote(const sys::HttpResponse& response);

}  // namespace sparkrun::oci
