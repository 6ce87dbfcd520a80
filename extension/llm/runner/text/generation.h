// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Checks of requests, which all runners share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <executorch/extension/llm/runner/irunner.h>
#include <executorch/extension/llm/sampler/sampler.h>
#include <executorch/runtime/core/result.h>
#include <pytorch/tokenizers/tokenizer.h>

namespace executorch::extension::llm {

/// How `config` chooses tokens; a `temperature` of 0 or more replaces its own. InvalidArgument for
/// options out of their range, NotSupported for a grammar.
runtime::Result<SamplingOptions> sampling_options(const GenerationConfig& config,
                                                  float temperature);

/// The number of new tokens after `occupied` ones; InvalidArgument if there is room for none.
runtime::Result<int32_t> count_new_tokens(const GenerationConfig& config, int64_t context,
                                          int64_t occupied);

/// The tokens of a text, all less than `vocab_size`; else InvalidArgument.
runtime::Result<std::vector<uint64_t>> encode_text(const tokenizers::Tokenizer& tokenizer,
                                                   const std::string& text, int32_t num_bos,
                                                   int32_t num_eos, int64_t vocab_size);

/// InvalidArgument for positions that no cache has, because sizes have 32 bits.
runtime::Error check_position(int64_t start_pos);

/// InvalidArgument for tokens of `vocab_size` or more. Size 0 is unknown (a decoder whose class
/// overrides load()) and allows all tokens.
runtime::Error check_tokens(const std::vector<uint64_t>& tokens, int64_t vocab_size);

/// The most likely token.
runtime::Result<uint64_t> most_likely(const aten::Tensor& logits);

}  // namespace executorch::extension::llm
