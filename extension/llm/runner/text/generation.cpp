// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/llm/runner/text/generation.h>

#include <cinttypes>
#include <utility>

#include <executorch/runtime/platform/log.h>

namespace executorch::extension::llm {

using runtime::Error;
using runtime::Result;

namespace {

Error check_added(int32_t num_bos, int32_t num_eos) {
  ET_CHECK_OR_RETURN_ERROR(
      num_bos >= 0 && num_eos >= 0 && num_bos <= INT8_MAX && num_eos <= INT8_MAX, InvalidArgument,
      "num_bos and num_eos: expected 0 to 127, found %d and %d", int(num_bos), int(num_eos));
  return Error::Ok;
}

}  // namespace

Result<SamplingOptions> sampling_options(const GenerationConfig& config, float temperature) {
  ET_CHECK_OR_RETURN_ERROR(config.max_new_tokens >= -1 && config.seq_len >= -1, InvalidArgument,
                           "max_new_tokens and seq_len: expected -1 or more, found %d and %d",
                           int(config.max_new_tokens), int(config.seq_len));
  ET_CHECK_OR_RETURN_ERROR(config.grammar.empty() && config.grammar_type.empty(), NotSupported,
                           "grammar: expected none, because decoding cannot be constrained");
  ET_CHECK_OK_OR_RETURN_ERROR(check_added(config.num_bos, config.num_eos));
  const SamplingOptions options = {temperature < 0 ? config.temperature : temperature,
                                   config.topp,
                                   config.topk,
                                   config.minp,
                                   config.repetition_penalty,
                                   config.seed};
  ET_CHECK_OK_OR_RETURN_ERROR(check(options));
  return options;
}

Result<int32_t> count_new_tokens(const GenerationConfig& config, int64_t context,
                                 int64_t occupied) {
  ET_CHECK_OR_RETURN_ERROR(occupied <= context, InvalidArgument,
                           "prompt: %" PRId64 " tokens do not fit the context of %" PRId64,
                           occupied, context);
  const int32_t count = config.resolve_max_new_tokens(context, occupied);
  ET_CHECK_OR_RETURN_ERROR(count > 0, InvalidArgument,
                           "prompt: %" PRId64 " tokens leave no room for new ones (context %" PRId64
                           ", seq_len %d, max_new_tokens %d)",
                           occupied, context, int(config.seq_len), int(config.max_new_tokens));
  return count;
}

Result<std::vector<uint64_t>> encode_text(const tokenizers::Tokenizer& tokenizer,
                                          const std::string& text, int32_t num_bos, int32_t num_eos,
                                          int64_t vocab_size) {
  ET_CHECK_OK_OR_RETURN_ERROR(check_added(num_bos, num_eos));
  auto encoded = tokenizer.encode(text, int8_t(num_bos), int8_t(num_eos));
  ET_CHECK_OR_RETURN_ERROR(encoded.ok(), InvalidArgument,
                           "prompt: the tokenizer cannot encode it (error %u)",
                           unsigned(encoded.error()));
  std::vector<uint64_t> tokens = std::move(*encoded);
  ET_CHECK_OK_OR_RETURN_ERROR(check_tokens(tokens, vocab_size));
  return tokens;
}

Error check_position(int64_t start_pos) {
  ET_CHECK_OR_RETURN_ERROR(start_pos >= 0 && start_pos <= INT32_MAX, InvalidArgument,
                           "start_pos: expected 0 to %d, found %" PRId64, INT32_MAX, start_pos);
  return Error::Ok;
}

Error check_tokens(const std::vector<uint64_t>& tokens, int64_t vocab_size) {
  if (vocab_size == 0) return Error::Ok;
  for (const uint64_t token : tokens) {
    ET_CHECK_OR_RETURN_ERROR(token < uint64_t(vocab_size), InvalidArgument,
                             "prompt: found token %" PRIu64
                             ", the model has a vocabulary of %" PRId64,
                             token, vocab_size);
  }
  return Error::Ok;
}

Result<uint64_t> most_likely(const aten::Tensor& logits) {
  return Sampler(SamplingOptions{}).sample(logits);
}

}  // namespace executorch::extension::llm
