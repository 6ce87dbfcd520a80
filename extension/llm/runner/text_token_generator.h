// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Generates tokens one by one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include <executorch/extension/llm/runner/irunner.h>
#include <executorch/extension/llm/runner/stats.h>
#include <executorch/extension/llm/runner/text_prefiller.h>
#include <pytorch/tokenizers/tokenizer.h>

namespace executorch::extension::llm {

class TextTokenGenerator {
 public:
  /// The pointers must outlive the generator. `eos_ids`: the tokens that end a text.
  TextTokenGenerator(tokenizers::Tokenizer* tokenizer, TextDecoderRunner* text_decoder_runner,
                     bool use_kv_cache, std::unique_ptr<std::unordered_set<uint64_t>>&& eos_ids,
                     Stats* stats);
  virtual ~TextTokenGenerator() = default;

  void set_ignore_eos(bool ignore_eos) { ignore_eos_ = ignore_eos; }
  void set_stop_strings(std::vector<std::string> texts) { stop_strings_ = std::move(texts); }
  /// Runs before each token is chosen; an empty function is not called.
  void set_logit_processor(LogitProcessor processor) { processor_ = std::move(processor); }
  const LogitProcessor& logit_processor() const { return processor_; }

  /// Generates up to `max_new_tokens` after `tokens`, of which the last one is not in the cache yet
  /// and gets position `start_pos`. Returns the number of new tokens.
  virtual runtime::Result<int64_t> generate(std::vector<uint64_t> tokens, int64_t start_pos,
                                            int32_t max_new_tokens, float temperature = 0.0f,
                                            const TextCallback& token_callback = {});

  /// Generates 1 to `max_new_tokens` tokens after a text, the first one by `logits`. The last one
  /// becomes the pending token of the text. Exceptions of the callback pass through.
  runtime::Error extend(TextState& state, aten::Tensor logits, int32_t max_new_tokens,
                        Sampler& sampler, const TextCallback& token_callback);

  virtual void stop() { text_decoder_runner_->stop(); }
  virtual runtime::Error load() { return text_decoder_runner_->load(); }
  virtual bool is_loaded() const {
    return tokenizer_->is_loaded() && text_decoder_runner_->is_method_loaded();
  }

 private:
  tokenizers::Tokenizer* const tokenizer_;
  TextDecoderRunner* const text_decoder_runner_;
  /// Runs the pending token; without cache, all tokens.
  TextPrefiller step_;
  std::unique_ptr<std::unordered_set<uint64_t>> eos_ids_;
  Stats* const stats_;
  bool ignore_eos_ = false;
  std::vector<std::string> stop_strings_;
  LogitProcessor processor_;
};

}  // namespace executorch::extension::llm

// Documented name of the same thing.
namespace torch::executor {
using ::executorch::extension::llm::TextTokenGenerator;
}  // namespace torch::executor
