// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/llm/runner/text_prefiller.h>

#include <algorithm>
#include <utility>

#include <executorch/extension/llm/runner/text/generation.h>
#include <executorch/extension/tensor/tensor_ptr_maker.h>
#include <executorch/runtime/platform/log.h>

namespace executorch::extension::llm {

using runtime::Error;
using runtime::Result;

TextPrefiller::TextPrefiller(TextDecoderRunner* text_decoder_runner, bool use_kv_cache,
                             bool enable_parallel_prefill, int64_t max_seq_len)
    : text_decoder_runner_(text_decoder_runner),
      use_kv_cache_(use_kv_cache),
      enable_parallel_prefill_(enable_parallel_prefill),
      max_seq_len_(max_seq_len > 0 ? max_seq_len : 128) {}

template <typename RunChunk>
Result<uint64_t> TextPrefiller::prefill_by(std::vector<uint64_t>& prompt_tokens, int64_t& start_pos,
                                           RunChunk&& run_chunk) {
  ET_CHECK_OR_RETURN_ERROR(!prompt_tokens.empty(), InvalidArgument, "prefill: expected tokens");
  ET_CHECK_OK_OR_RETURN_ERROR(check_position(start_pos));
  if (!is_loaded()) ET_CHECK_OK_OR_RETURN_ERROR(load());
  const auto limit = use_kv_cache_ ? size_t(max_seq_len_) : prompt_tokens.size();
  if (prompt_tokens.size() <= limit) return run_chunk(prompt_tokens, start_pos);
  uint64_t last = 0;
  for (size_t begin = 0; begin < prompt_tokens.size(); begin += limit) {
    const size_t end = std::min(begin + limit, prompt_tokens.size());
    std::vector<uint64_t> chunk(prompt_tokens.begin() + int64_t(begin),
                                prompt_tokens.begin() + int64_t(end));
    int64_t position = start_pos;
    const auto token = run_chunk(chunk, position);
    if (!token.ok()) {
      start_pos = position;
      return token.error();
    }
    last = *token;
    // An override of prefill_chunk() need not advance its position.
    start_pos += int64_t(chunk.size());
  }
  return last;
}

Result<uint64_t> TextPrefiller::prefill(std::vector<uint64_t>& prompt_tokens, int64_t& start_pos) {
  return prefill_by(prompt_tokens, start_pos, [this](auto& chunk, int64_t& position) {
    return prefill_chunk(chunk, position);
  });
}

Result<uint64_t> TextPrefiller::prefill(std::vector<uint64_t>& prompt_tokens, int64_t& start_pos,
                                        float temperature) {
  return prefill_by(prompt_tokens, start_pos, [this, temperature](auto& chunk, int64_t& position) {
    return prefill_chunk(chunk, position, temperature);
  });
}

Result<uint64_t> TextPrefiller::prefill_chunk(std::vector<uint64_t>& prompt_tokens,
                                              int64_t& start_pos) {
  return prefill_chunk(prompt_tokens, start_pos, 0.0f);
}

Result<uint64_t> TextPrefiller::prefill_chunk(std::vector<uint64_t>& prompt_tokens,
                                              int64_t& start_pos, float temperature) {
  ET_CHECK_OR_RETURN_ERROR(!prompt_tokens.empty(), InvalidArgument,
                           "prefill_chunk: expected tokens");
  ET_CHECK_OK_OR_RETURN_ERROR(check_position(start_pos));
  TextState state{prompt_tokens, prompt_tokens.size(), start_pos};
  const auto logits = run(state);
  ET_CHECK_OK_OR_RETURN_ERROR(logits.error());
  start_pos = state.position;
  ET_CHECK_OR_RETURN_ERROR(logits->has_value(), InvalidState,
                           "prefill: stopped after %zu of %zu tokens",
                           prompt_tokens.size() - state.pending, prompt_tokens.size());
  const int32_t token = text_decoder_runner_->logits_to_token(**logits, temperature);
  return token < 0 ? Result<uint64_t>(Error::InvalidProgram) : uint64_t(token);
}

Result<std::optional<aten::Tensor>> TextPrefiller::run(TextState& state) {
  if (!use_kv_cache_) {
    const auto logits = step(state.tokens.data(), state.tokens.size(), 0);
    ET_CHECK_OK_OR_RETURN_ERROR(logits.error());
    state.position += int64_t(state.pending);
    state.pending = 0;
    return std::optional<aten::Tensor>(*logits);
  }
  const int64_t limit = text_decoder_runner_->signature().max_tokens;
  const auto chunk = size_t(!enable_parallel_prefill_ ? 1
                            : limit > 0               ? std::min(max_seq_len_, limit)
                                                      : max_seq_len_);
  std::optional<aten::Tensor> last;
  while (state.pending > 0) {
    if (text_decoder_runner_->should_stop()) return std::optional<aten::Tensor>();
    const size_t count = std::min(chunk, state.pending);
    const auto logits =
        step(state.tokens.data() + state.tokens.size() - state.pending, count, state.position);
    ET_CHECK_OK_OR_RETURN_ERROR(logits.error());
    state.pending -= count;
    state.position += int64_t(count);
    last = *logits;
  }
  return last;
}

Result<aten::Tensor> TextPrefiller::step(const uint64_t* tokens, size_t count, int64_t position) {
  TensorPtr input =
      make_tensor_ptr({1, int32_t(count)}, std::vector<int64_t>(tokens, tokens + count));
  return text_decoder_runner_->step(input, position);
}

}  // namespace executorch::extension::llm
