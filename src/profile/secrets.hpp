// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace sparkrun::profile {

// Whether a variable of this name holds a secret by convention: it ends in TOKEN, KEY, SECRET, ...
bool is_secret_name(std::string_view name);

// Whether the text holds a token of a well-known issuer (Hugging Face, GitHub, NVIDIA, ...).
bool contains_token(std::string_view text);

// Whether `name=value` would put a secret in a file: `value` contains a token, or `name` is a
// secret's and `value` is neither short nor a placeholder such as `<HF_TOKEN>` or `your-key-here`.
bool is_secret(std::string_view name, std::string_view value);

}  // namespace sparkrun::profile
