// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Executes the decoder of a program with separate embedding.
#pragma once

#include <executorch/extension/llm/runner/text_decoder_runner.h>

namespace executorch::extension::llm {

/// Runs `token_embedding(tokens)` and `text_decoder(embeddings, position)`.
class MultimodalDecoderRunner : public TextDecoderRunner {
 public:
  /// The pointers must outlive the runner.
  explicit MultimodalDecoderRunner(Module* module, IOManager* io_manager);

  runtime::Error load() override;
  runtime::Result<aten::Tensor> step(TensorPtr& tokens, int64_t start_pos) override;

  /// The embeddings [1, T, D] of `tokens` [1, T], valid until the next execution of the method.
  runtime::Result<aten::Tensor> embed(const TensorPtr& tokens);
  /// Logits of embeddings [1, T, D] whose first one is at `start_pos`. Embeddings that exceed the
  /// method's limit run in parts.
  virtual runtime::Result<aten::Tensor> decode(const aten::Tensor& embeddings, int64_t start_pos);
  virtual runtime::Result<aten::Tensor> decode(const runtime::EValue& embeddings,
                                               int64_t start_pos);

  /// Limit of tokens in one execution of `token_embedding`; after load().
  int64_t max_embedded_tokens() const { return max_embedded_tokens_; }

 private:
  int64_t max_embedded_tokens_ = 0;
};

}  // namespace executorch::extension::llm
