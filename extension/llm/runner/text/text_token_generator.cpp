// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/llm/runner/text_token_generator.h>

#include <cinttypes>
#include <utility>

#include <executorch/extension/llm/runner/text/generation.h>
#include <executorch/extension/llm/runner/text/text_output.h>
#include <executorch/runtime/platform/log.h>

namespace executorch::extension::llm {

using runtime::Error;
using runtime::Result;

TextTokenGenerator::TextTokenGenerator(tokenizers::Tokenizer* tokenizer,
                                       TextDecoderRunner* text_decoder_runner, bool use_kv_cache,
                                       std::unique_ptr<std::unordered_set<uint64_t>>&& eos_ids,
                                       Stats* stats)
    : tokenizer_(tokenizer),
      text_decoder_runner_(text_decoder_runner),
      step_(text_decoder_runner, use_kv_cache, false),
      eos_ids_(std::move(eos_ids)),
      stats_(stats) {}

Result<int64_t> TextTokenGenerator::generate(std::vector<uint64_t> tokens, int64_t start_pos,
                                             int32_t max_new_tokens, float temperature,
                                             const TextCallback& token_callback) {
  ET_CHECK_OR_RETURN_ERROR(!tokens.empty(), InvalidArgument, "generate: expected tokens");
  ET_CHECK_OK_OR_RETURN_ERROR(check_position(start_pos));
  if (max_new_tokens <= 0) return int64_t(0);
  SamplingOptions options;
  options.temperature = temperature;
  ET_CHECK_OK_OR_RETURN_ERROR(check(options));
  text_decoder_runner_->clear_stop();
  const size_t before = tokens.size();
  TextState state{std::move(tokens), 1, start_pos};
  const auto logits = step_.run(state);
  ET_CHECK_OK_OR_RETURN_ERROR(logits.error());
  if (!logits->has_value()) return int64_t(0);
  Sampler sampler(options);
  ET_CHECK_OK_OR_RETURN_ERROR(extend(state, **logits, max_new_tokens, sampler, token_callback));
  return int64_t(state.tokens.size() - before);
}

Error TextTokenGenerator::extend(TextState& state, aten::Tensor logits, int32_t max_new_tokens,
                                 Sampler& sampler, const TextCallback& token_callback) {
  TextOutput output(stop_strings_, token_callback);
  sampler.set_processor(processor_);
  for (int32_t count = 1;; ++count) {
    stats_->on_sampling_begin();
    const auto token = sampler.sample(logits);
    stats_->on_sampling_end();
    ET_CHECK_OK_OR_RETURN_ERROR(token.error());
    if (count == 1) stats_->first_token_ms = time_in_ms();
    stats_->num_generated_tokens = count;
    const uint64_t previous = state.tokens.empty() ? *token : state.tokens.back();
    state.tokens.push_back(*token);
    ++state.pending;
    sampler.observe(*token);
    if (!ignore_eos_ && eos_ids_->count(*token) != 0) break;
    const auto piece = tokenizer_->decode(previous, *token);
    ET_CHECK_OR_RETURN_ERROR(piece.ok(), InvalidArgument,
                             "the tokenizer has no token %" PRIu64 ", which the model generated",
                             *token);
    const bool is_over = output.add(*piece);
    if (is_over || text_decoder_runner_->should_stop() || count >= max_new_tokens) break;
    const auto next = step_.run(state);
    ET_CHECK_OK_OR_RETURN_ERROR(next.error());
    if (!next->has_value()) break;
    logits = **next;
  }
  output.finish();
  return Error::Ok;
}

}  // namespace executorch::extension::llm
