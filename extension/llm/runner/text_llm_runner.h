// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Generates text with a program that predicts tokens.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <executorch/extension/llm/runner/cached_runner.h>
#include <executorch/extension/llm/runner/text_decoder_runner.h>
#include <executorch/extension/llm/runner/text_prefiller.h>
#include <executorch/runtime/core/result.h>

namespace executorch::extension::llm {

/// One thread at a time may use a runner; stop() may be called from any. After an error of
/// generate() or prefill(), the text is the one before the call, so that the call can be repeated;
/// the next call computes the part of the cache that the failed one overwrote.
class TextLLMRunner : public CachedRunner {
 public:
  /// create_text_llm_runner() makes the parts. A `temperature` of 0 or more replaces the one of
  /// GenerationConfig.
  TextLLMRunner(Metadata metadata, std::unique_ptr<tokenizers::Tokenizer> tokenizer,
                std::unique_ptr<Module> module,
                std::unique_ptr<TextDecoderRunner> text_decoder_runner,
                std::unique_ptr<TextPrefiller> text_prefiller,
                std::unique_ptr<IOManager> io_manager,
                std::unique_ptr<TextTokenGenerator> text_token_generator,
                std::unique_ptr<Stats> stats, float temperature = -1.0f);

  bool is_loaded() const override;
  [[nodiscard]] runtime::Error load() override;

  /// Errors as Module::execute(); InvalidArgument for options out of their range, a prompt without
  /// tokens or with more than fit, text that the tokenizer refuses, or a tokenizer with tokens
  /// beyond the model's vocabulary. Exceptions of callbacks pass through. An empty prompt continues
  /// the text.
  [[nodiscard]] runtime::Error generate(const std::string& prompt, const GenerationConfig& config,
                                        TextCallback token_callback = {},
                                        StatsCallback stats_callback = {}) override;
  /// Appends text to the cache; returns the most likely next token. Errors as generate();
  /// InvalidState if stop() ended it.
  runtime::Result<uint64_t> prefill(const std::string& prompt, int32_t num_bos = 0,
                                    int32_t num_eos = 0);
  /// Appends texts and tokens; InvalidArgument for other inputs.
  runtime::Result<uint64_t> prefill(const std::string& prompt, const GenerationConfig& config) {
    return prefill(prompt, config.num_bos, config.num_eos);
  }
  runtime::Result<uint64_t> prefill(const std::vector<MultimodalInput>& inputs, int32_t num_bos = 0,
                                    int32_t num_eos = 0) override;
  /// Runs a prompt without callbacks, and then starts again with an empty cache.
  [[nodiscard]] runtime::Error warmup(const std::string& prompt, int32_t max_new_tokens);

  void stop() override { text_decoder_runner_->stop(); }
  void reset() override;

  void set_model_load_times(long start, long end);

 private:
  int64_t constant(const char* name) const;
  bool uses_cache() const { return text_decoder_runner_->signature().num_inputs != 1; }
  int64_t context() const;
  runtime::Result<std::vector<uint64_t>> encode(const std::string& prompt, int32_t num_bos,
                                                int32_t num_eos);
  /// Appends tokens to the text and runs all pending ones.
  runtime::Result<std::optional<aten::Tensor>> append(const std::vector<uint64_t>& tokens);
  runtime::Result<uint64_t> prefill_tokens(const std::vector<uint64_t>& tokens);
  /// Cuts the text at its first difference from `tokens`, and removes the common part from
  /// `tokens`.
  void keep_common_prefix(std::vector<uint64_t>& tokens);
  runtime::Error generate_tokens(const std::string& prompt, const GenerationConfig& config,
                                 const SamplingOptions& options, const TextCallback& callback,
                                 Rollback& rollback);

  std::unique_ptr<TextDecoderRunner> text_decoder_runner_;
  std::unique_ptr<TextPrefiller> text_prefiller_;
  float temperature_;
};

}  // namespace executorch::extension::llm

// Documented programs include this header alone for load_tokenizer(), create_text_llm_runner() and
// get_rss_bytes().
#include <executorch/extension/llm/runner/llm_runner_helper.h>
#include <executorch/extension/llm/runner/util.h>
