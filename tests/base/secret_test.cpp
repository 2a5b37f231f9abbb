// SPDX-License-Identifier: MIT
#include "base/secret.hpp"

#include <gtest/gtest.h>

namespace sparkrun {
namespace {

// Put together here, so that no scanner takes this file for a leak.
const std::string hub_token = std::string{"hf"} + "_AbCdEfGhIjKlMnOpQrStUvWxYz";
const std::string ngc_key = std::string{"nvapi"} + "-abcDEF_123-456789012345678";

TEST(Secret, KnowsNamesOfSecrets) {
  for (const char* const name : {"HF_TOKEN", "--token", "--api-key", "WANDB_API_KEY", "password",
                                 "--hf-token", "DB_PASS", "AWS_SECRET_ACCESS_KEY", "MY_SECRET"}) {
    EXPECT_TRUE(is_secret_name(name)) << name;
  }
  for (const char* const name :
       {"", "--max-tokens", "TOKENIZERS_PARALLELISM", "--tokenizer", "TOKEN_FILE",
        "AWS_ACCESS_KEY_ID", "KEY", "--monkey", "PATH", "NCCL_DEBUG"}) {
    EXPECT_FALSE(is_secret_name(name)) << name;
  }
}

TEST(Secret, ReplacesWhatIsSecretInText) {
  const std::pair<std::string, std::string> cases[] = {
      {"use " + hub_token + ".", "use [redacted]."},
      {"key=" + ngc_key, "key=[redacted]"},
      {"https://me:pw@reg.test/v2", "https://[redacted]@reg.test/v2"},
      {"HF_TOKEN=abc python x.py", "HF_TOKEN=[redacted] python x.py"},
      {"a --password 'b c' d", "a --password [redacted] d"},
      {"Authorization: Bearer abc", "Authorization: [redacted]"},
      {R"({"api_key": "abc", "n": 1})", R"({"api_key": [redacted], "n": 1})"},
  };
  for (const auto& [text, clean] : cases) EXPECT_EQ(redact(text), clean);
}

TEST(Secret, LeavesOrdinaryTextAlone) {
  for (const char* const text :
       {"hf_transfer_is_a_package_of_python", "/data/token:/workspace/token", "git@github.com:a/b",
        "https://reg.test/a@sha256:0123", "--max-tokens 4096", "task-sk-learn", "HF_TOKEN",
        "-e HF_TOKEN -e WANDB_API_KEY", "sk-learn-something-longer-than-that", "a=b", ""}) {
    EXPECT_EQ(redact(text), text);
  }
}

TEST(Secret, ReplacesValuesOnACommandLine) {
  using Words = std::vector<std::string>;
  const std::pair<Words, Words> cases[] = {
      {{"-e", "HF_TOKEN=a b"}, {"-e", "HF_TOKEN=[redacted]"}},
      {{"-eHF_TOKEN=a"}, {"-eHF_TOKEN=[redacted]"}},
      {{"--env=HF_TOKEN=a"}, {"--env=HF_TOKEN=[redacted]"}},
      {{"-e", "HF_TOKEN", "image"}, {"-e", "HF_TOKEN", "image"}},
      {{"--token", "abc", "x"}, {"--token", "[redacted]", "x"}},
      {{"--api-key=abc"}, {"--api-key=[redacted]"}},
      {{"--password", "--verbose"}, {"--password", "--verbose"}},
      {{"sh", "-c", "cd /a; HF_TOKEN=abc ./x"}, {"sh", "-c", "cd /a; HF_TOKEN=[redacted] ./x"}},
      {{"-e", "NCCL_DEBUG=INFO"}, {"-e", "NCCL_DEBUG=INFO"}},
      {{"-v", "/a/secret:/b"}, {"-v", "/a/secret:/b"}},
  };
  for (const auto& [words, clean] : cases) EXPECT_EQ(redact_words(words), clean);
}

// Made up here, and put together at run time so that no scanner takes this file for a leak.
std::string token(const std::string& prefix, size_t length) {
  std::string text = prefix;
  for (size_t n = 0; n < length; ++n)
    text += static_cast<char>(n % 2 == 0 ? 'a' + n % 26 : '0' + n % 10);
  return text;
}

TEST(Secret, IsSeenByTheFormOfTheirIssuer) {
  for (const std::string& secret :
       {token("hf_", 34), token("ghp_", 36), token("github_pat_", 40), token("nvapi-", 60),
        token("sk-", 48), token("glpat-", 20), std::string{"AKIA"} + "ABCDEFGHIJKLMNO1"}) {
    EXPECT_TRUE(contains_token(secret)) << secret;
    EXPECT_TRUE(contains_token("--token=" + secret)) << secret;
    EXPECT_TRUE(is_secret("HARMLESS", secret)) << secret;
  }
}

TEST(Secret, IsNotSeenInOrdinaryWords) {
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

TEST(Secret, IsSeenByTheNameOfTheirVariable) {
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

struct Values {
  std::vector<std::string> values;
  const char* text;
  const char* clean;
};

TEST(Secret, IsTakenOutOfATextByItsValue) {
  const Values table[] = {
      {{}, "a text", "a text"},
      {{"", "1", "yes"}, "1 yes", "1 yes"},
      {{"abcd"}, "abcdabcd, xabcdy", "[redacted][redacted], x[redacted]y"},
      {{"abcd", "abcdef"}, "abcdef abcd", "[redacted] [redacted]"},
      {{"redacted"}, "redacted", "[redacted]"},
      {{"first line\n\n  second\r\nx\n"},
       "> first line\n> second\n> x",
       "> [redacted]\n> [redacted]\n> x"},
  };
  for (const Values& row : table) {
    EXPECT_EQ(redact_values(row.text, row.values), row.clean) << row.text;
  }
}

// Each prefix was read to the end of the text: 80 KB took a minute.
TEST(Secret, IsLookedForInATimeThatGrowsWithTheText) {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += "sk-";

  EXPECT_FALSE(contains_token(text));
}

}  // namespace
}  // namespace sparkrun
