// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The interface of runners of language models.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <executorch/extension/llm/runner/stats.h>
#include <executorch/runtime/core/error.h>

namespace executorch::extension::llm {

struct GenerationConfig {
  /// Passes the prompt to the callback, too.
  bool echo = true;
  /// Continues behind tokens that end a text.
  bool ignore_eos = false;
  /// The most new tokens; -1: as many as seq_len and the context leave.
  int32_t max_new_tokens = -1;
  /// Skips the callbacks: a run to warm up.
  bool warming = false;
  /// The most tokens in all, prompt included; -1: as many as the context has.
  int32_t seq_len = -1;
  /// 0 takes the most likely token; above, tokens are drawn by softmax(logits / temperature).
  float temperature = 0.8f;
  /// Tokens in front of and behind the prompt that begin and end texts.
  int8_t num_bos = 0;
  int8_t num_eos = 0;
  /// Draws among the most likely tokens whose probabilities reach topp together; 1: among all.
  float topp = 1.0f;
  /// Draws among this many most likely tokens; 0: among all.
  int32_t topk = 0;
  /// Leaves out tokens less likely than this share of the most likely one.
  float minp = 0.0f;
  /// Divides positive logits of tokens that occurred, and multiplies negative ones; 1: nothing.
  float repetition_penalty = 1.0f;
  /// Seed of the random numbers; the same seed draws the same tokens. 0: a new one each time.
  uint64_t seed = 0;
  /// Texts that end the generation; the first one found is the end of the output.
  std::vector<std::string> stop_strings = {};

  /// How many new tokens fit: never negative.
  int32_t resolve_max_new_tokens(int32_t max_context_len, int32_t num_prompt_tokens) const {
    const int64_t room = int64_t(max_context_len) - num_prompt_tokens;
    int64_t most = seq_len >= 0 ? int64_t(seq_len) - num_prompt_tokens : room;
    most = most < room ? most : room;
    most = max_new_tokens >= 0 && max_new_tokens < most ? max_new_tokens : most;
    return most > 0 ? int32_t(most) : 0;
  }
};

/// Receives text as it is generated.
using TextCallback = std::function<void(const std::string&)>;
using StatsCallback = std::function<void(const Stats&)>;

class IRunner {
 public:
  virtual ~IRunner() = default;
  virtual bool is_loaded() const = 0;
  virtual runtime::Error load() = 0;
  /// Appends the prompt to the cache, and generates text behind it.
  virtual runtime::Error generate(const std::string& prompt, const GenerationConfig& config,
                                  TextCallback token_callback = {},
                                  StatsCallback stats_callback = {}) = 0;
  /// Ends a running generation after the current token; from a callback or another thread.
  virtual void stop() = 0;
  /// Begins again with an empty cache.
  virtual void reset() = 0;
};

}  // namespace executorch::extension::llm
