// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The interface of runners of language models.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <executorch/extension/llm/runner/multimodal_input.h>
#include <executorch/extension/llm/runner/stats.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/result.h>

namespace executorch::extension::llm {

struct GenerationConfig {
  /// Passes the prompt to the callback before the generated text.
  bool echo = true;
  /// Constrained decoding. No runner implements it: a grammar that is not empty is NotSupported.
  std::string grammar = {};
  std::string grammar_type = {};
  /// Continues after tokens that end a text.
  bool ignore_eos = false;
  /// Limit of new tokens; -1: as many as seq_len and the context allow.
  int32_t max_new_tokens = -1;
  /// Skips the callbacks, for a run that only warms up.
  bool warming = false;
  /// Limit of all tokens, prompt included; -1: the context.
  int32_t seq_len = -1;
  /// 0 takes the most likely token; above 0, tokens are drawn by softmax(logits / temperature).
  float temperature = 0.8f;
  /// Number of tokens before and after the prompt that begin and end a text.
  int32_t num_bos = 0;
  int32_t num_eos = 0;
  /// Draws from the most likely tokens whose probabilities sum up to topp; 1: from all.
  float topp = 1.0f;
  /// Draws from this many most likely tokens; 0: from all.
  int32_t topk = 0;
  /// Excludes tokens whose probability is below minp times the highest one.
  float minp = 0.0f;
  /// Divides positive logits of tokens that occurred and multiplies negative ones; 1: no penalty.
  float repetition_penalty = 1.0f;
  /// Seed of the random numbers; the same seed draws the same tokens. 0: a new seed each time.
  uint64_t seed = 0;
  /// Texts that end the generation. The output ends with the first one that occurs.
  std::vector<std::string> stop_strings = {};
  /// The prompt is the whole text from its beginning, not a continuation. The runner keeps the part
  /// of its cache that agrees with the prompt and computes the rest.
  bool reuse_prefix = false;

  /// Returns the number of new tokens that fit; never negative.
  int32_t resolve_max_new_tokens(int64_t max_context_len, int64_t num_prompt_tokens) const {
    const int64_t room = max_context_len - num_prompt_tokens;
    int64_t limit = seq_len >= 0 ? seq_len - num_prompt_tokens : room;
    limit = limit < room ? limit : room;
    limit = max_new_tokens >= 0 && max_new_tokens < limit ? max_new_tokens : limit;
    limit = limit < INT32_MAX ? limit : INT32_MAX;
    return limit > 0 ? int32_t(limit) : 0;
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
  /// Appends the prompt to the cache and generates the text that follows.
  virtual runtime::Error generate(const std::string& prompt, const GenerationConfig& config,
                                  TextCallback token_callback = {},
                                  StatsCallback stats_callback = {}) = 0;
  /// Appends inputs to the cache; returns the most likely next token. NotSupported by default.
  virtual runtime::Result<uint64_t> prefill(const std::vector<MultimodalInput>& inputs,
                                            int32_t num_bos = 0, int32_t num_eos = 0) {
    static_cast<void>(inputs);
    static_cast<void>(num_bos);
    static_cast<void>(num_eos);
    return runtime::Error::NotSupported;
  }
  /// Ends a running generation after the current token. Callbacks and other threads may call it.
  virtual void stop() = 0;
  /// Starts again with an empty cache.
  virtual void reset() = 0;
};

}  // namespace executorch::extension::llm
