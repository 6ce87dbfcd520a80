// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/llm/runner/multimodal_prefiller.h>

#include <algorithm>
#include <cinttypes>
#include <utility>

#include <executorch/extension/llm/runner/constants.h>
#include <executorch/extension/llm/runner/text/generation.h>
#include <executorch/extension/tensor/element_conversion.h>
#include <executorch/extension/tensor/tensor_ptr_maker.h>
#include <executorch/runtime/platform/log.h>

namespace executorch::extension::llm {

using aten::ScalarType;
using runtime::Error;
using runtime::Result;

namespace {

/// Converts floating point numbers to the encoder's dtype; other pairs of dtypes must be equal.
Result<TensorPtr> to_dtype(TensorPtr tensor, ScalarType expected, const char* what) {
  if (tensor->scalar_type() == expected) return tensor;
  ET_CHECK_OR_RETURN_ERROR(
      tensor->scalar_type() == ScalarType::Float && runtime::isFloatingType(expected),
      InvalidArgument, "%s: the encoder expects %s, found %s", what, runtime::toString(expected),
      runtime::toString(tensor->scalar_type()));
  const auto& sizes = tensor->sizes();
  TensorPtr converted = empty({sizes.begin(), sizes.end()}, expected);
  visit_number_type(expected, [&](auto element) {
    using T = typename decltype(element)::type;
    const float* const source = tensor->const_data_ptr<float>();
    std::transform(source, source + tensor->numel(), converted->mutable_data_ptr<T>(),
                   [](float value) { return convert_number<T>(value); });
  });
  return converted;
}

/// The content of an image or audio as `rank` dimensions.
Result<TensorPtr> tensor_of(const MultimodalInput& input, size_t rank) {
  if (const Image* const image = input.try_get_image(); image != nullptr) {
    return image->toTensor(rank == 4);
  }
  if (const Audio* const audio = input.try_get_audio(); audio != nullptr) return audio->toTensor();
  return input.get_raw_audio().toTensor();
}

}  // namespace

MultimodalPrefiller::MultimodalPrefiller(Module* module, MultimodalDecoderRunner* decoder_runner,
                                         tokenizers::Tokenizer* tokenizer, IOManager*)
    : module_(module), decoder_runner_(decoder_runner), tokenizer_(tokenizer) {}

Result<uint64_t> MultimodalPrefiller::prefill(const MultimodalInput& input, int64_t& start_pos,
                                              int32_t num_bos, int32_t num_eos) {
  ET_CHECK_OK_OR_RETURN_ERROR(check_position(start_pos));
  std::vector<uint64_t> tokens;
  int64_t position = start_pos;
  const auto logits = run(input, INT32_MAX, position, tokens, num_bos, num_eos);
  ET_CHECK_OK_OR_RETURN_ERROR(logits.error());
  const auto token = most_likely(*logits);
  ET_CHECK_OK_OR_RETURN_ERROR(token.error());
  start_pos = position;
  return *token;
}

Result<aten::Tensor> MultimodalPrefiller::run(const MultimodalInput& input, int64_t context,
                                              int64_t& start_pos, std::vector<uint64_t>& tokens,
                                              int32_t num_bos, int32_t num_eos) {
  ET_CHECK_OK_OR_RETURN_ERROR(load());
  if (input.is_text() || input.is_tokens()) {
    std::vector<uint64_t> added;
    if (const std::vector<uint64_t>* const given = input.try_get_tokens(); given != nullptr) {
      added = *given;
    } else {
      auto encoded = encode_text(*tokenizer_, input.get_text(), num_bos, num_eos,
                                 decoder_runner_->signature().vocab_size);
      ET_CHECK_OK_OR_RETURN_ERROR(encoded.error());
      added = std::move(*encoded);
    }
    auto logits = run_tokens(added, context, start_pos);
    if (logits.ok()) tokens.insert(tokens.end(), added.begin(), added.end());
    return logits;
  }
  TensorPtr encoded;
  const auto embeddings = encode(input, encoded);
  ET_CHECK_OK_OR_RETURN_ERROR(embeddings.error());
  const int64_t count = embeddings->dim() == 3 ? embeddings->size(1) : 0;
  ET_CHECK_OR_RETURN_ERROR(count <= context - start_pos, InvalidArgument,
                           "%s: %" PRId64 " embeddings after %" PRId64
                           " do not fit the context of %" PRId64,
                           input.type_name(), count, start_pos, context);
  auto logits = decoder_runner_->decode(*embeddings, start_pos);
  if (logits.ok()) start_pos += count;
  return logits;
}

Result<aten::Tensor> MultimodalPrefiller::run_tokens(const std::vector<uint64_t>& tokens,
                                                     int64_t context, int64_t& start_pos) {
  ET_CHECK_OR_RETURN_ERROR(!tokens.empty(), InvalidArgument, "prompt: expected tokens, found none");
  ET_CHECK_OK_OR_RETURN_ERROR(check_tokens(tokens, decoder_runner_->signature().vocab_size));
  ET_CHECK_OR_RETURN_ERROR(int64_t(tokens.size()) <= context - start_pos, InvalidArgument,
                           "prompt: %zu tokens after %" PRId64
                           " do not fit the context of %" PRId64,
                           tokens.size(), start_pos, context);
  size_t chunk = tokens.size();
  for (const int64_t limit :
       {decoder_runner_->max_embedded_tokens(), decoder_runner_->signature().max_tokens}) {
    // 0 is unknown: a decoder whose class overrides load().
    if (limit > 0) chunk = std::min(chunk, size_t(limit));
  }
  size_t first = 0;
  for (;;) {
    const size_t count = std::min(chunk, tokens.size() - first);
    const auto from = tokens.begin() + int64_t(first);
    TensorPtr part =
        make_tensor_ptr({1, int32_t(count)}, std::vector<int64_t>(from, from + int64_t(count)));
    auto logits = decoder_runner_->step(part, start_pos + int64_t(first));
    ET_CHECK_OK_OR_RETURN_ERROR(logits.error());
    first += count;
    if (first == tokens.size()) {
      start_pos += int64_t(first);
      return logits;
    }
  }
}

Result<aten::Tensor> MultimodalPrefiller::encode(const MultimodalInput& input, TensorPtr& encoded) {
  const char* const method = input.is_image() ? kVisionEncoderMethod : kAudioEncoderMethod;
  const auto names = module_->method_names();
  ET_CHECK_OK_OR_RETURN_ERROR(names.error());
  ET_CHECK_OR_RETURN_ERROR(names->count(method) != 0, InvalidArgument,
                           "%s: the program has no method '%s'", input.type_name(), method);
  const auto meta = module_->method_meta(method);
  ET_CHECK_OK_OR_RETURN_ERROR(meta.error());
  const auto expected = meta->input_tensor_meta(0);
  ET_CHECK_OK_OR_RETURN_ERROR(expected.error());
  auto tensor = tensor_of(input, expected->sizes().size());
  ET_CHECK_OK_OR_RETURN_ERROR(tensor.error());
  const auto converted = to_dtype(std::move(*tensor), expected->scalar_type(), input.type_name());
  ET_CHECK_OK_OR_RETURN_ERROR(converted.error());
  encoded = *converted;
  const auto outputs = execute_once(*module_, method, {encoded});
  ET_CHECK_OK_OR_RETURN_ERROR(outputs.error());
  ET_CHECK_OR_RETURN_ERROR(!outputs->empty() && (*outputs)[0].isTensor(), InvalidProgram,
                           "method '%s': expected a tensor", method);
  return (*outputs)[0].toTensor();
}

}  // namespace executorch::extension::llm
