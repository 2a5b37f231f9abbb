// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sparkrun {

constexpr std::string_view redacted = "[redacted]";

// Whether a variable or an option of that name holds a secret: HF_TOKEN, `--api-key`, DB_PASSWORD.
// Not `--max-tokens`, TOKENIZERS_PARALLELISM, or TOKEN_FILE, which is a path.
bool is_secret_name(std::string_view name);

// Whether the text holds a token of a well-known issuer (Hugging Face, GitHub, NVIDIA, ...).
bool contains_token(std::string_view text);

// Whether `name=value` would put a secret in a file: `value` contains a token, or `name` is a
// secret's and `value` is neither short nor a placeholder such as `<HF_TOKEN>` or `your-key-here`.
bool is_secret(std::string_view name, std::string_view value);

// The text with `[redacted]` in place of what has the shape of a token of a known service (`hf_..`,
// `nvapi-..`, `ghp_..`), of the user part of URLs, and of what is assigned
// to a secret name (`HF_TOKEN=..`, `--password ..`, `Authorization: ..`).
std::string redact(std::string_view text);

// The same for a command line, where an option's value may be a word of its own and a value goes on
// to the end of its word.
std::vector<std::string> redact_words(const std::vector<std::string>& words);

// The text with `[redacted]` in place of each of the values, and of each line of a value that has
// several. What is shorter than four bytes (`1`, `yes`) is in many texts by chance and stays.
std::string redact_values(std::string text, const std::vector<std::string>& values);

}  // namespace sparkrun
