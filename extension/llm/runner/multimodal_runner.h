// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Generates text after prompts of text, images and audio.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <executorch/extension/llm/runner/cached_runner.h>
#include <executorch/extension/llm/runner/multimodal_prefiller.h>

namespace executorch::extension::llm {

/// One thread at a time may use a runner; stop() may be called from any. After an error of
/// generate() or prefill(), the position is the one before the call, so that the call can be
/// repeated; if a ring cache has lost what was there, the runner starts again with an empty cache.
class MultimodalRunner : public CachedRunner {
 public:
  /// create_multimodal_runner() makes the parts.
  MultimodalRunner(Metadata metadata, std::unique_ptr<tokenizers::Tokenizer> tokenizer,
                   std::unique_ptr<Module> module,
                   std::unique_ptr<MultimodalDecoderRunner> decoder_runner,
                   std::unique_ptr<MultimodalPrefiller> prefiller,
                   std::unique_ptr<IOManager> io_manager,
                   std::unique_ptr<TextTokenGenerator> text_token_generator,
                   std::unique_ptr<Stats> stats);

  bool is_loaded() const override;
  [[nodiscard]] runtime::Error load() override;

  /// Errors as TextLLMRunner::generate() and MultimodalPrefiller::prefill(). Without inputs, the
  /// text continues. With `echo`, texts among the inputs are passed to the callback.
  [[nodiscard]] virtual runtime::Error generate(const std::vector<MultimodalInput>& inputs,
                                                const GenerationConfig& config,
                                                TextCallback token_callback = {},
                                                StatsCallback stats_callback = {});
  [[nodiscard]] runtime::Error generate(const std::string& prompt, const GenerationConfig& config,
                                        TextCallback token_callback = {},
                                        StatsCallback stats_callback = {}) override;
  runtime::Result<uint64_t> prefill(const std::vector<MultimodalInput>& inputs, int32_t num_bos = 0,
                                    int32_t num_eos = 0) override;

  void stop() override { decoder_runner_->stop(); }
  void reset() override;

 private:
  /// Appends inputs to the cache; the logits of the last one are in next_logits_.
  runtime::Error append(const std::vector<MultimodalInput>& inputs, int32_t num_bos,
                        int32_t num_eos);
  /// The same; after an error, there are no logits.
  runtime::Error append_all(const std::vector<MultimodalInput>& inputs, int32_t num_bos,
                            int32_t num_eos);
  runtime::Error run_tokens(const std::vector<uint64_t>& tokens);
  runtime::Error generate_tokens(const std::vector<MultimodalInput>& inputs,
                                 const GenerationConfig& config, const SamplingOptions& options,
                                 const TextCallback& callback);

  std::unique_ptr<MultimodalDecoderRunner> decoder_runner_;
  std::unique_ptr<MultimodalPrefiller> prefiller_;
};

}  // namespace executorch::extension::llm

// Documented programs include this header alone for create_multimodal_runner().
#include <executorch/extension/llm/runner/llm_runner_helper.h>
