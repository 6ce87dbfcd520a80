// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Runs the tokens of a prompt.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <executorch/extension/llm/runner/text/text_state.h>
#include <executorch/extension/llm/runner/text_decoder_runner.h>

namespace executorch::extension::llm {

class TextPrefiller {
 public:
  /// Without `enable_parallel_prefill`, tokens run one by one; with it, up to `max_seq_len` run in
  /// one execution. Without `use_kv_cache`, all of a text runs in one execution.
  TextPrefiller(TextDecoderRunner* text_decoder_runner, bool use_kv_cache,
                bool enable_parallel_prefill, int64_t max_seq_len = 128);
  virtual ~TextPrefiller() = default;

  /// Runs the tokens from `start_pos` on, which advances, by prefill_chunk(); returns the most
  /// likely next token.
  virtual runtime::Result<uint64_t> prefill(std::vector<uint64_t>& prompt_tokens,
                                            int64_t& start_pos);
  /// The same for at most `max_seq_len` tokens (without cache, all of a text).
  virtual runtime::Result<uint64_t> prefill_chunk(std::vector<uint64_t>& prompt_tokens,
                                                  int64_t& start_pos);
  /// The same two functions, with a next token that is drawn at `temperature`.
  virtual runtime::Result<uint64_t> prefill(std::vector<uint64_t>& prompt_tokens,
                                            int64_t& start_pos, float temperature);
  virtual runtime::Result<uint64_t> prefill_chunk(std::vector<uint64_t>& prompt_tokens,
                                                  int64_t& start_pos, float temperature);
  virtual runtime::Error load() { return text_decoder_runner_->load(); }
  virtual bool is_loaded() const { return text_decoder_runner_->is_method_loaded(); }

  /// Runs the pending tokens of a text; returns the logits of the last one, and nothing if stop()
  /// ended it before.
  runtime::Result<std::optional<aten::Tensor>> run(TextState& state);

 private:
  /// Divides the tokens into chunks for `run_chunk`, which has prefill_chunk()'s parameters.
  template <typename RunChunk>
  runtime::Result<uint64_t> prefill_by(std::vector<uint64_t>& prompt_tokens, int64_t& start_pos,
                                       RunChunk&& run_chunk);
  runtime::Result<aten::Tensor> step(const uint64_t* tokens, size_t count, int64_t position);

  TextDecoderRunner* const text_decoder_runner_;
  const bool use_kv_cache_;
  const bool enable_parallel_prefill_;
  const int64_t max_seq_len_;
};

}  // namespace executorch::extension::llm

// Documented name of the same thing.
namespace torch::executor {
using ::executorch::extension::llm::TextPrefiller;
}  // namespace torch::executor
