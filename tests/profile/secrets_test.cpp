// SPDX-License-Identifier: MIT
#include "profile/secrets.hpp"

#include <gtest/gtest.h>

#include <string>

namespace sparkrun::profile {
namespace {

// Made up here, and put together at run time so that no scanner takes this file for a leak.
std::string token(const std::string& prefix, size_t length) {
  std::string text = prefix;
  for (size_t n = 0; n < length; ++n)
    text += static_cast<char>(n % 2 == 0 ? 'a' + n % 26 : '0' + n % 10);
  return text;
}

TEST(Secrets, AreSeenByTheFormOfTheirIssuer) {
  for (const std::string& secret :
       {token("hf_", 34), token("ghp_", 36), token("github_pat_", 40), token("nvapi-", 60),
        token("sk-", 48), token("glpat-", 20), std::string{"AKIA"} + "ABCDEFGHIJKLMNO1"}) {
    EXPECT_TRUE(contains_token(secret)) << secret;
    EXPECT_TRUE(contains_token("--token=" + secret)) << secret;
    EXPECT_TRUE(is_secret("HARMLESS", secret)) << secret;
  }
}

TEST(Secrets, AreNotSeenInOrdinaryWords) {
  for (const char* const text :
       {"", "hf_transfer", "hf_xet", "sk-learn", "task-0123456789-0123456789-abc", "nvapi-", "AKIA",
        "nvidia/Qwen3-14B-FP4", "<HF_TOKEN>", "pip install hf_transfer==0.1.9"}) {
    EXPECT_FALSE(contains_token(text)) << text;
  }
}

struct NamedValue {
  const char* name;
  const char* value;
  bool is_secret;
};

TEST(Secrets, AreSeenByTheNameOfTheirVariable) {
  constexpr NamedValue table[] = {
      {"WANDB_API_KEY", "0123456789abcdef0123", true},
      {"db_password", "correcthorsebattery", true},
      {"MY_SECRET", "aGVsbG8gd29ybGQhIQ==", true},
      {"HF_TOKEN", "<HF_TOKEN>", false},
      {"HF_TOKEN", "your-token-goes-here", false},
      {"HF_TOKEN", "$HF_TOKEN_OF_MY_HOST", false},
      {"HF_TOKEN", "", false},
      {"VLLM_API_KEY", "local", false},
      {"PAD_TOKEN", "<|endoftext|>", false},
      {"SSL_KEY", "/etc/ssl/private/key.pem", false},
      {"TIKTOKEN_ENCODINGS_BASE", "https://mirror.test/encodings", false},
      {"TOKENIZERS_PARALLELISM", "false-or-so-it-seems", false},
  };
  for (const NamedValue& row : table) {
    EXPECT_EQ(is_secret(row.name, row.value), row.is_secret) << row.name << "=" << row.value;
  }
}

}  // namespace
}  // namespace sparkrun::profile
