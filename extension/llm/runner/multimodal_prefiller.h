// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Runs the parts of a multimodal prompt.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <executorch/extension/llm/runner/multimodal_decoder_runner.h>
#include <executorch/extension/llm/runner/multimodal_input.h>
#include <pytorch/tokenizers/tokenizer.h>

namespace executorch::extension::llm {

class MultimodalPrefiller {
 public:
  /// The pointers must outlive the prefiller. The I/O manager is the decoder's; it is a parameter
  /// as in ExecuTorch 1.4.
  explicit MultimodalPrefiller(Module* module, MultimodalDecoderRunner* decoder_runner,
                               tokenizers::Tokenizer* tokenizer, IOManager* io_manager);
  virtual ~MultimodalPrefiller() = default;

  /// Appends an input to the cache at `start_pos`, which advances; returns the most likely next
  /// token. Text is encoded with `num_bos` and `num_eos` tokens around it. InvalidArgument for an
  /// input that the tokenizer or the encoder does not take, or for which the program has no
  /// encoder. After an error, `start_pos` is unchanged.
  virtual runtime::Result<uint64_t> prefill(const MultimodalInput& input, int64_t& start_pos,
                                            int32_t num_bos = 0, int32_t num_eos = 0);

  /// The same, with the limit of the context and the logits as result. `tokens` receives those of
  /// text.
  runtime::Result<aten::Tensor> run(const MultimodalInput& input, int64_t context,
                                    int64_t& start_pos, std::vector<uint64_t>& tokens,
                                    int32_t num_bos = 0, int32_t num_eos = 0);
  runtime::Result<aten::Tensor> run_tokens(const std::vector<uint64_t>& tokens, int64_t context,
                                           int64_t& start_pos);

  virtual runtime::Error load() { return decoder_runner_->load(); }
  virtual bool is_method_loaded() { return decoder_runner_->is_method_loaded(); }

 private:
  /// The embeddings of an image or audio, valid until the encoder's next execution. An encoder may
  /// return its input, which is `encoded`, over memory of its own or of `input`.
  runtime::Result<aten::Tensor> encode(const MultimodalInput& input, TensorPtr& encoded);

  Module* const module_;
  MultimodalDecoderRunner* const decoder_runner_;
  tokenizers::Tokenizer* const tokenizer_;
};

}  // namespace executorch::extension::llm
