// SPDX-License-Identifier: MIT
#include "profile/import/purpose.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <span>

namespace sparkrun::profile {
namespace {

struct Sign {
  std::string_view text;
  std::string_view purpose;
};

// In the words of entrypoint and command, joined by blanks; each begins and ends where a word does.
constexpr std::array signs_of_command = std::to_array<Sign>({
    {"vllm bench", "tool"},
    {"sglang.bench_serving", "tool"},
    {"trtllm-bench", "tool"},
    {"vllm serve", "inference"},
    {"vllm.entrypoints", "inference"},
    {"sglang serve", "inference"},
    {"sglang.launch_server", "inference"},
    {"trtllm-serve", "inference"},
    {"trtllm-llmapi-launch", "inference"},
    {"llama-server", "inference"},
    {"llama-swap", "inference"},
    {"llama-run", "inference"},
    {"ollama serve", "inference"},
    {"text-generation-launcher", "inference"},
    {"tritonserver", "inference"},
    {"torchrun", "training"},
    {"accelerate launch", "training"},
    {"deepspeed", "training"},
    {"axolotl", "training"},
    {"llamafactory-cli train", "training"},
    {"from unsloth import", "training"},
    {"import unsloth", "training"},
    {"unsloth train", "training"},
    {"hf download", "tool"},
    {"huggingface-cli download", "tool"},
    {"jupyter lab", "tool"},
    {"jupyter notebook", "tool"},
    {"jupyter-lab", "tool"},
});

// Names of scripts, without their folder.
constexpr std::array training_scripts = std::to_array<std::string_view>(
    {"train.*", "train_*.*", "train-*.*", "*_train.*", "*-train.*", "pretrain*.*", "*finetun*.*",
     "*fine_tun*.*", "*fine-tun*.*", "sft.*", "sft_*.*", "*_sft.*", "run_sft*", "train",
     "finetune"});

// Programs that say it only as the first word.
constexpr std::array signs_of_program = std::to_array<Sign>({{"nvidia-smi", "tool"},
                                                             {"nvcc", "tool"},
                                                             {"nsys", "tool"},
                                                             {"jupyter", "tool"},
                                                             {"deviceQuery", "tool"}});

// In the image's name. The first have an entrypoint that gets whatever words there are; the others
// run one thing unless they are told otherwise.
constexpr std::array signs_of_entrypoint = std::to_array<Sign>({
    {"vllm/vllm-openai", "inference"},
    {"ollama/ollama", "inference"},
    {"text-generation-inference", "inference"},
    {"text-embeddings-inference", "inference"},
    {"llama.cpp:server", "inference"},
    {"llama-swap", "inference"},
});
constexpr std::array signs_of_image = std::to_array<Sign>({
    {"nvcr.io/nim/", "inference"},
    {"comfyui", "inference"},
    {"unsloth/unsloth", "training"},
    {"axolotl", "training"},
    {"llamafactory", "training"},
});

bool is_word_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z');
}

bool has_words(std::string_view text, std::string_view words) {
  for (size_t at = text.find(words); at != std::string_view::npos; at = text.find(words, at + 1)) {
    const size_t end = at + words.size();
    const bool begins = at == 0 || !is_word_character(text[at - 1]);
    const bool ends = end == text.size() || !is_word_character(text[end]);
    if (begins && ends) return true;
  }
  return false;
}

const Sign* find_sign(std::span<const Sign> signs, std::string_view text) {
  const auto found =
      std::ranges::find_if(signs, [&](const Sign& sign) { return has_words(text, sign.text); });
  return found == signs.end() ? nullptr : &*found;
}

const Sign* find_in(std::span<const Sign> signs, std::string_view image) {
  const auto found = std::ranges::find_if(
      signs, [&](const Sign& sign) { return image.find(sign.text) != std::string_view::npos; });
  return found == signs.end() ? nullptr : &*found;
}

std::string entrypoint_of(const Profile& profile) {
  const auto found =
      std::ranges::find(profile.container, find_by_key("entrypoint"), &OptionValue::option);
  return found == profile.container.end() ? "" : found->values.front();
}

std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// No word, options, or the name of a model: the image's own program gets them.
bool leaves_program_to_image(const std::vector<std::string>& words) {
  if (words.empty() || words.front().starts_with('-')) return true;
  const std::string& first = words.front();
  return first.find('/') != std::string::npos && !first.starts_with('/') && !first.starts_with('.');
}

std::string training_script(std::string_view line) {
  std::string plain{line};
  std::ranges::replace_if(
      plain,
      [](char c) { return std::string_view{"\n\t\"';&|()"}.find(c) != std::string_view::npos; },
      ' ');
  for (const std::string_view word : split(plain, ' ')) {
    const std::string_view name = base_name(word);
    // A path to data is no script: `/data/train`.
    const bool is_path = name.size() < word.size() && name.find('.') == std::string_view::npos;
    const bool is_script = !is_path && std::ranges::any_of(training_scripts, [&](auto pattern) {
      return matches_glob(pattern, name);
    });
    const bool is_program =
        name.ends_with(".py") || name.ends_with(".sh") || name.find('.') == std::string_view::npos;
    if (is_script && is_program && name.size() < 64) return std::string{name};
  }
  return "";
}

Purpose purpose_of(const Sign& sign) {
  return {.name = sign.purpose, .sign = std::string{sign.text}};
}

}  // namespace

Purpose infer_purpose(const Profile& profile) {
  const std::string entrypoint = entrypoint_of(profile);
  std::vector<std::string> words = profile.command;
  if (!entrypoint.empty()) words.insert(words.begin(), entrypoint);
  const std::string line = to_lower(join(words, " "));
  if (const Sign* const sign = find_sign(signs_of_command, line)) return purpose_of(*sign);
  if (!words.empty()) {
    const auto found = std::ranges::find(signs_of_program, base_name(words.front()), &Sign::text);
    if (found != signs_of_program.end()) return purpose_of(*found);
  }
  if (entrypoint.empty()) {
    const std::string image = to_lower(profile.image);
    if (const Sign* const sign = find_in(signs_of_entrypoint, image)) return purpose_of(*sign);
    if (leaves_program_to_image(words)) {
      const Sign* const sign = find_in(signs_of_image, image);
      return sign == nullptr ? Purpose{} : purpose_of(*sign);
    }
  }
  if (const std::string script = training_script(line); !script.empty()) {
    return {.name = "training", .sign = script};
  }
  return {};
}

}  // namespace sparkrun::profile
